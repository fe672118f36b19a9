// SPDX-License-Identifier: BSD-2-Clause
// The report on what traces hold.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ctl/options.h"
#include "ctl/report_input.h"
#include "ctl/terminal.h"
#include "decoders/summary_analysis.h"

namespace ktraced {

// As JSON: described in docs/reports.md.
[[nodiscard]] nlohmann::json summary_report(const SummaryAnalysis& analysis,
                                            const ReportCommand& command, const ReportFacts& facts);
// The same for people.
[[nodiscard]] std::string summary_report_text(const nlohmann::json& report, const Colours& colours);

}  // namespace ktraced
