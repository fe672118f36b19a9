// SPDX-License-Identifier: BSD-2-Clause
// The command `show`.
#pragma once

#include "base/error.h"
#include "ctl/input/options.h"

namespace ktraced {

// Prints the events of trace directories as one history, in the same way as `stream` prints live
// events. Needs no daemon and no privileges. If something cannot be read, prints everything else
// and then fails with ExitCode::data.
[[nodiscard]] Result<> run_show(const ShowCommand& command, const Options& options);

}  // namespace ktraced
