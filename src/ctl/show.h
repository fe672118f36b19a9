// SPDX-License-Identifier: BSD-2-Clause
// The command `show`.
#pragma once

#include "base/error.h"
#include "ctl/options.h"

namespace ktraced {

// Prints the events of trace directories as one history, as `stream` prints those that happen
// now; needs no daemon and no privileges. Fails with ExitCode::data after everything that can
// be read if something cannot.
[[nodiscard]] Result<> run_show(const ShowCommand& command, const Options& options);

}  // namespace ktraced
