// SPDX-License-Identifier: BSD-2-Clause
// The command `report`.
#pragma once

#include "base/error.h"
#include "ctl/input/options.h"

namespace ktraced {

// Prints a report on the events of trace directories or of a live stream. Trace directories need no
// daemon and no privileges. If something cannot be read, reports on everything else and then fails
// with ExitCode::data.
[[nodiscard]] Result<> run_report(const ReportCommand& command, const Options& options);

}  // namespace ktraced
