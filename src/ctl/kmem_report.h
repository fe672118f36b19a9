// SPDX-License-Identifier: BSD-2-Clause
// The report on kernel memory.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/options.h"
#include "ctl/terminal.h"
#include "decoders/kmem_analysis.h"

namespace ktraced {

// What its rows can be sorted by, the default first.
[[nodiscard]] std::vector<std::string> kmem_sort_keys();

// What stands at a kernel address; empty if it is not known.
using SymbolAt = std::function<std::string_view(uint64_t address)>;

// The events that give back what was allocated in a trace.
[[nodiscard]] std::vector<std::string> events_that_free(const KmemAnalysis& analysis);

// As JSON: described in docs/reports.md. `analysis` is finished.
[[nodiscard]] nlohmann::json kmem_report(const KmemAnalysis& analysis, const ReportCommand& command,
                                         const SymbolAt& symbol);
// The same for people.
[[nodiscard]] std::string kmem_report_text(const nlohmann::json& report, const Colours& colours);

}  // namespace ktraced
