// SPDX-License-Identifier: BSD-2-Clause
// The report on scheduling.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/reports/sched_analysis.h"
#include "ctl/input/options.h"
#include "ctl/input/report_text.h"

namespace ktraced {

// The sort keys of its rows, the default first.
[[nodiscard]] std::vector<std::string> sched_sort_keys();

// The events that it depends on.
inline const std::vector<std::string> kSchedNeeds = {"sched_switch", "sched_wakeup",
                                                     "sched_wakeup_new"};

// Its tables, the default first.
[[nodiscard]] const std::vector<ReportTable>& sched_tables();
// The report as JSON, see docs/reports.md. `analysis` must be finished.
[[nodiscard]] nlohmann::json sched_report(const SchedAnalysis& analysis,
                                          const ReportCommand& command);
// The report as text. `report`: its JSON.
[[nodiscard]] std::string sched_report_text(const nlohmann::json& report, const Colours& colours);

// The columns of waits for a CPU, entries of "longest": when it began, how long it was, the CPU,
// the thread, and the one that ran instead, which texts have elsewhere.
[[nodiscard]] TableColumns wait_columns(const char* since, const char* how_long);
// The thread that ran longest on the CPU of a long wait: "nginx 812 for 497.4 us"; "?": unknown.
[[nodiscard]] std::string instead_label(const nlohmann::json& wait, const nlohmann::json& report);

}  // namespace ktraced
