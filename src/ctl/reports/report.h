// SPDX-License-Identifier: BSD-2-Clause
// The command `report`.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "ctl/input/options.h"

namespace ktraced {

// The names of a report's tables; the first one is the default.
[[nodiscard]] std::vector<std::string> report_table_names(ReportCommand::Kind kind);

// Prints a report on the events of trace directories or of a live stream. Trace directories need no
// daemon and no privileges. If something cannot be read, reports on everything else and then fails
// with ExitCode::data.
[[nodiscard]] Result<> run_report(const ReportCommand& command, const Options& options);

}  // namespace ktraced
