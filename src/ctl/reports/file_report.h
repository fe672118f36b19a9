// SPDX-License-Identifier: BSD-2-Clause
// The report on files: paths of system calls.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/reports/file_analysis.h"
#include "ctl/input/options.h"
#include "ctl/input/report_text.h"

namespace ktraced {

// The sort keys of its rows, the default first.
[[nodiscard]] std::vector<std::string> file_sort_keys();

// The events that it depends on.
inline const std::vector<std::string> kFileNeeds = {"sys_enter", "sys_exit", "sys_enter_string",
                                                    "sys_exit_string"};

// Its tables, the default first.
[[nodiscard]] const std::vector<ReportTable>& file_tables();
// The report as JSON, see docs/reports.md.
[[nodiscard]] nlohmann::json file_report(const FileAnalysis& analysis, const CallPaths& calls,
                                         const ReportCommand& command);
// The report as text. `report`: its JSON.
[[nodiscard]] std::string file_report_text(const nlohmann::json& report, const Colours& colours);

}  // namespace ktraced
