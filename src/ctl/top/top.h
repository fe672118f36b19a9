// SPDX-License-Identifier: BSD-2-Clause
// `ktracectl top`.
#pragma once

#include "base/error.h"
#include "ctl/input/options.h"

namespace ktraced {

// Shows what happens now until `q`, `--count` or a signal. On a terminal: a screen with keys; else
// frames on standard output, as text or as lines of JSON. Fails with ExitCode::unavailable if the
// daemon ends.
Result<> run_top(const TopCommand& command, const Options& options);

}  // namespace ktraced
