// SPDX-License-Identifier: BSD-2-Clause
// The command `record`.
#pragma once

#include "base/error.h"
#include "ctl/input/options.h"

namespace ktraced {

// Writes the stream of a session of its own into a trace directory until a signal comes, the
// duration is over or the given command has ended. Returns the exit code of that command, otherwise
// 0. Fails with ExitCode::usage, before anything is started, if the directory already exists.
[[nodiscard]] Result<int> run_record(const RecordCommand& command, const Options& options);

}  // namespace ktraced
