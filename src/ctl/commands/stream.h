// SPDX-License-Identifier: BSD-2-Clause
// The command `stream`.
#pragma once

#include "base/error.h"
#include "ctl/input/options.h"

namespace ktraced {

// Opens a session with the events and the filter of the command, and prints until `--count`,
// `--duration` or a signal ends it, or until the output has no reader. Fails with
// ExitCode::unavailable if the daemon ends the stream.
[[nodiscard]] Result<> run_stream(const StreamCommand& command, const Options& options);

}  // namespace ktraced
