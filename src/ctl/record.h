// SPDX-License-Identifier: BSD-2-Clause
// The command `record`.
#pragma once

#include "base/error.h"
#include "ctl/options.h"

namespace ktraced {

// Writes the live stream into a trace directory until a signal comes, the duration is over or
// the command that it was given has ended. Returns the exit code of that command, else 0.
// Fails with ExitCode::usage, before anything is started, if there is something at the
// directory's place.
[[nodiscard]] Result<int> run_record(const RecordCommand& command, const Options& options);

}  // namespace ktraced
