// SPDX-License-Identifier: BSD-2-Clause
// The report on system calls.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "analysis/reports/syscall_analysis.h"
#include "analysis/stacks/call_stacks.h"
#include "analysis/stacks/frame_text.h"
#include "analysis/stacks/trace_stacks.h"
#include "ctl/input/options.h"
#include "ctl/input/report_text.h"

namespace ktraced {

// The sort keys of its rows, the default first.
[[nodiscard]] std::vector<std::string> syscall_sort_keys();

// The events that it depends on.
inline const std::vector<std::string> kSyscallNeeds = {"sys_enter", "sys_exit"};

// Its tables, the default first.
[[nodiscard]] const std::vector<ReportTable>& syscall_tables();
// The report as JSON, see docs/reports.md.
[[nodiscard]] nlohmann::json syscall_report(const SyscallAnalysis& analysis,
                                            const ReportCommand& command);
// Adds the trees of the stacks of some calls.
void add_call_stacks(nlohmann::json& report, const CallStacks& calls, const TraceStacks& stacks,
                     const FrameNamer& namer, const ReportCommand& command);
// The report as text. `report`: its JSON.
[[nodiscard]] std::string syscall_report_text(const nlohmann::json& report, const Colours& colours);

}  // namespace ktraced
