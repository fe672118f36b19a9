// SPDX-License-Identifier: BSD-2-Clause
// The report on scheduling.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ctl/options.h"
#include "ctl/terminal.h"
#include "decoders/sched_analysis.h"

namespace ktraced {

// What its rows can be sorted by, the default first.
[[nodiscard]] std::vector<std::string> sched_sort_keys();

// The events that it depends on.
inline const std::vector<std::string> kSchedNeeds = {"sched_switch", "sched_wakeup",
                                                     "sched_wakeup_new"};

// As JSON: described in docs/reports.md. `analysis` is finished.
[[nodiscard]] nlohmann::json sched_report(const SchedAnalysis& analysis,
                                          const ReportCommand& command);
// The same for people.
[[nodiscard]] std::string sched_report_text(const nlohmann::json& report, const Colours& colours);

}  // namespace ktraced
