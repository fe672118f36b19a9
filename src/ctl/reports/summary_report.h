// SPDX-License-Identifier: BSD-2-Clause
// The summary report: the content of traces.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/reports/summary_analysis.h"
#include "analysis/stacks/stack_account.h"
#include "ctl/input/options.h"
#include "ctl/input/report_input.h"
#include "ctl/input/report_text.h"

namespace ktraced {

// The sort keys of its rows, the default first.
[[nodiscard]] std::vector<std::string> summary_sort_keys();

// Its tables, the default first.
[[nodiscard]] const std::vector<ReportTable>& summary_tables();
// The report as JSON, see docs/reports.md.
[[nodiscard]] nlohmann::json summary_report(const SummaryAnalysis& analysis,
                                            const ReportCommand& command, const ReportFacts& facts);
// Adds to it what the traces have of stacks; `elsewhere`: see StackAccount::of().
void add_stack_account(nlohmann::json& report, const StackAccount& account,
                       const StackTable& elsewhere);
// The report as text. `report`: its JSON.
[[nodiscard]] std::string summary_report_text(const nlohmann::json& report, const Colours& colours);

}  // namespace ktraced
