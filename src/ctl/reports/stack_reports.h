// SPDX-License-Identifier: BSD-2-Clause
// Stacks in reports: trees of functions, where CPU time went, and where threads sleep.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/stacks/cpu_samples.h"
#include "analysis/stacks/off_cpu.h"
#include "analysis/stacks/stack_names.h"
#include "ctl/input/options.h"
#include "ctl/input/report_text.h"

namespace ktraced {

// Whose stacks are put together, by name, the default first: "process", "thread", "cgroup".
[[nodiscard]] std::vector<std::string> stack_owners();
[[nodiscard]] bool is_stack_owner(std::string_view name);
// What the command asks for; of another name, the default.
[[nodiscard]] StacksBy stacks_by(const ReportCommand& command);

// What the branches of a tree are measured by.
struct TreeUnit {
  const char* name = "samples";  // in JSON
  uint64_t StackWeight::* of = &StackWeight::count;
  CellKind kind = CellKind::count;
  const char* title = "SAMPLES";  // of the column
  const char* events = nullptr;   // title of the column with their number; null: they are the unit
  // Why there may be no stack at all: the end of a sentence.
  const char* chosen_by = "'stacks' in the configuration says which events take them";
};

// What a tree is made of.
struct TreeSource {
  const StackSums& sums;
  const TraceStacks& stacks;
  FrameNamer namer;
  TreeUnit unit = {};
  StackWeight others = {};  // what has no row in `sums`
  // Of a row, what its CPU did inside the innermost function, as "[guest]"; null: nothing else.
  const char* (*inside)(uint32_t what) = nullptr;
};

// Adds "tree", "functions" and "stacks" to a report, see docs/reports.md.
void add_stack_trees(nlohmann::json& report, const TreeSource& source,
                     const ReportCommand& command);
// "user", "kernel" and "without_user_stack": how the stacks of events end.
[[nodiscard]] nlohmann::json stack_ends_json(const StackEnds& ends);
// A line for each kind of stacks that there are, "user stacks of 4 events: 75.0 % complete, …".
// `whose`: "user stacks of the wakers of 4 sleeps: …" as {"the wakers of ", "sleeps"}.
struct EndsOf {
  const char* whose = "";
  const char* events = "events";
};
[[nodiscard]] std::string stack_ends_text(const nlohmann::json& ends, const EndsOf& of = {});
// Prints them on standard error, line by line: for forms in which they have no place.
void print_stack_ends(const StackEnds& ends);
// Its tables "tree" and "functions".
[[nodiscard]] std::vector<ReportTable> tree_tables(const TreeUnit& unit);
// Both as text, and how complete the stacks are.
[[nodiscard]] std::string stack_trees_text(const nlohmann::json& report, const TreeUnit& unit,
                                           const Colours& colours);

// ---- report cpu ----

// The events that it depends on.
inline const std::vector<std::string> kCpuNeeds = {"cpu_sample"};
[[nodiscard]] const std::vector<ReportTable>& cpu_tables();
[[nodiscard]] nlohmann::json cpu_report(const CpuSampleAnalysis& analysis,
                                        const TraceStacks& stacks, const FrameNamer& namer,
                                        const ReportCommand& command);
[[nodiscard]] std::string cpu_report_text(const nlohmann::json& report, const Colours& colours);

// ---- report offcpu ----

inline const std::vector<std::string> kOffCpuNeeds = {"sched_switch", "sched_waking"};
[[nodiscard]] const std::vector<ReportTable>& off_cpu_tables();
// `analysis` must be finished.
[[nodiscard]] nlohmann::json off_cpu_report(const OffCpuAnalysis& analysis,
                                            const TraceStacks& stacks, const FrameNamer& namer,
                                            const ReportCommand& command);
[[nodiscard]] std::string off_cpu_report_text(const nlohmann::json& report, const Colours& colours);

// An owner in JSON: actor_json(), with "tid" of a thread; or {"cgroup"}; or {"others"}. With
// "kernel_thread", if samples say so.
[[nodiscard]] nlohmann::json owner_json(const StackOwner& owner, StacksBy by);
// "nginx 812", "worker 813", "/system.slice/nginx.service", "kworker/0:1 57 (kernel thread)".
[[nodiscard]] std::string owner_label(const nlohmann::json& owner);

}  // namespace ktraced
