// SPDX-License-Identifier: BSD-2-Clause
// The report on processes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/reports/process_analysis.h"
#include "ctl/input/options.h"
#include "ctl/input/report_input.h"
#include "ctl/input/report_text.h"

namespace ktraced {

// The sort keys of its rows, the default first.
[[nodiscard]] std::vector<std::string> process_sort_keys();

// The events that it depends on.
inline const std::vector<std::string> kProcessNeeds = {"sched_switch", "sched_process_fork",
                                                       "sched_process_exec", "sched_process_exit",
                                                       "signal_generate"};

// The facts beside it, of an input that is read.
[[nodiscard]] ReportFacts process_facts(ReportInput& input);

// Its tables, the default first.
[[nodiscard]] const std::vector<ReportTable>& process_tables();
// The report as JSON, see docs/reports.md. `analysis` must be finished.
[[nodiscard]] nlohmann::json process_report(const ProcessAnalysis& analysis,
                                            const ReportCommand& command, const ReportFacts& facts);
// The report as text. `report`: its JSON.
[[nodiscard]] std::string process_report_text(const nlohmann::json& report, const Colours& colours);

}  // namespace ktraced
