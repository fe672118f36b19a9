// SPDX-License-Identifier: BSD-2-Clause
// The command `stream`.
#pragma once

#include "base/error.h"
#include "ctl/options.h"

namespace ktraced {

// Subscribes and prints until the count or the duration is reached, a signal
// comes, nobody reads the output, or the daemon ends the stream, which is
// ExitCode::unavailable.
[[nodiscard]] Result<> run_stream(const StreamCommand& command, const Options& options);

}  // namespace ktraced
