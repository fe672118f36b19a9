// SPDX-License-Identifier: BSD-2-Clause
// The report on kernel memory.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/reports/kmem_analysis.h"
#include "analysis/stacks/frame_text.h"
#include "analysis/stacks/stack_sums.h"
#include "analysis/stacks/trace_stacks.h"
#include "ctl/input/options.h"
#include "ctl/input/report_text.h"

namespace ktraced {

// The sort keys of its rows, the default first.
[[nodiscard]] std::vector<std::string> kmem_sort_keys();

// The symbol at a kernel address; empty if unknown.
using SymbolAt = std::function<std::string_view(uint64_t address)>;

// The events that free what was allocated in a trace.
[[nodiscard]] std::vector<std::string> events_that_free(const KmemAnalysis& analysis);

// The addresses of all call sites.
[[nodiscard]] std::vector<uint64_t> call_sites_of(const KmemAnalysis& analysis);

// Its tables, the default first.
[[nodiscard]] const std::vector<ReportTable>& kmem_tables();
// The report as JSON, see docs/reports.md. `analysis` must be finished.
[[nodiscard]] nlohmann::json kmem_report(const KmemAnalysis& analysis, const ReportCommand& command,
                                         const SymbolAt& symbol);
// Adds the trees of stacks, by the sort key, or else by what is held. `sums`: the rows of the
// analysis's stacks, which get their weights here.
void add_kmem_stacks(nlohmann::json& report, const KmemAnalysis& analysis, StackSums& sums,
                     const TraceStacks& stacks, const FrameNamer& namer,
                     const ReportCommand& command);
// The report as text. `report`: its JSON.
[[nodiscard]] std::string kmem_report_text(const nlohmann::json& report, const Colours& colours);

}  // namespace ktraced
