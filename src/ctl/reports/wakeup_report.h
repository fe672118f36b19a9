// SPDX-License-Identifier: BSD-2-Clause
// The report on the wake-ups of certain threads.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/reports/wakeup_analysis.h"
#include "base/error.h"
#include "ctl/input/options.h"
#include "ctl/input/report_text.h"

namespace ktraced {

// The sort keys of its rows, the default first.
[[nodiscard]] std::vector<std::string> wakeup_sort_keys();

// The events that it depends on.
inline const std::vector<std::string> kWakeupNeeds = {"sched_switch", "sched_waking",
                                                      "sched_wakeup", "sched_wakeup_new"};

// The threads that `who` names: the id of a process or thread, or a pattern of names ('nginx*').
[[nodiscard]] WakeupAnalysis::IsTarget wakeup_targets(const std::string& who);

// Fails with ExitCode::usage if no thread that the trace knows is one of those that `who` names.
// `analysis` must have read the trace.
[[nodiscard]] Result<> check_wakeup_targets(const WakeupAnalysis& analysis, const std::string& who);

// Its tables, the default first.
[[nodiscard]] const std::vector<ReportTable>& wakeup_tables();
// The report as JSON, see docs/reports.md. `analysis` must be finished.
[[nodiscard]] nlohmann::json wakeup_report(const WakeupAnalysis& analysis,
                                           const ReportCommand& command);
// The report as text. `report`: its JSON.
[[nodiscard]] std::string wakeup_report_text(const nlohmann::json& report, const Colours& colours);

}  // namespace ktraced
