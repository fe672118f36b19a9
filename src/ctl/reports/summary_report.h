// SPDX-License-Identifier: BSD-2-Clause
// The summary report: the content of traces.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "analysis/reports/summary_analysis.h"
#include "ctl/input/options.h"
#include "ctl/input/report_input.h"
#include "ctl/terminal/terminal.h"

namespace ktraced {

// As JSON, see docs/reports.md.
[[nodiscard]] nlohmann::json summary_report(const SummaryAnalysis& analysis,
                                            const ReportCommand& command, const ReportFacts& facts);
// As text.
[[nodiscard]] std::string summary_report_text(const nlohmann::json& report, const Colours& colours);

}  // namespace ktraced
