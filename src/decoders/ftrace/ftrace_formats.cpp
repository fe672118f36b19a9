// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/ftrace/ftrace_formats.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace ktraced {

namespace {

struct EventFormat {
  std::string_view event;
  std::string_view format;
};

// From "print fmt" in /sys/kernel/tracing/events/*/*/format, without the values that records do not
// contain: pfn of pages, whether a slab cache is accounted, and the memory sizes of an
// out-of-memory victim.
constexpr std::string_view kWakeup =
    "comm={pid:comm} pid={pid} prio={prio} target_cpu={target_cpu:03}";
constexpr EventFormat kFormats[] = {
    {"sched_switch",
     "prev_comm={prev_pid:comm} prev_pid={prev_pid} prev_prio={prev_prio} "
     "prev_state={prev_state} ==> next_comm={next_pid:comm} next_pid={next_pid} "
     "next_prio={next_prio}"},
    {"sched_waking", kWakeup},
    {"sched_wakeup", kWakeup},
    {"sched_wakeup_new", kWakeup},
    {"sched_migrate_task",
     "comm={pid:comm} pid={pid} prio={prio} orig_cpu={orig_cpu} dest_cpu={dest_cpu}"},
    {"sched_process_fork",
     "comm={parent_pid:comm} pid={parent_pid} child_comm={child_pid:comm} child_pid={child_pid}"},
    {"sched_process_exec", "filename={filename} pid={pid} old_pid={old_pid}"},
    {"sched_process_exit", "comm={pid:comm} pid={pid} prio={prio} group_dead={group_dead:truth}"},
    {"task_rename", "pid={pid} oldcomm={oldcomm} newcomm={newcomm} oom_score_adj={oom_score_adj}"},
    {"kmalloc",
     "call_site={call_site:symbol} ptr={ptr:pointer} bytes_req={bytes_req} "
     "bytes_alloc={bytes_alloc} gfp_flags={gfp_flags} node={node} "
     "accounted={gfp_flags:accounted}"},
    {"kfree", "call_site={call_site:symbol} ptr={ptr:pointer}"},
    {"kmem_cache_alloc",
     "call_site={call_site:symbol} ptr={ptr:pointer} name={name} bytes_req={bytes_req} "
     "bytes_alloc={bytes_alloc} gfp_flags={gfp_flags} node={node}"},
    {"kmem_cache_free", "call_site={call_site:symbol} ptr={ptr:pointer} name={name}"},
    {"mm_page_alloc",
     "page={page:pointer} order={order} migratetype={migratetype} gfp_flags={gfp_flags}"},
    {"mm_page_free", "page={page:pointer} order={order}"},
    {"sys_enter", "NR {nr} ({args:hex})"},
    {"sys_exit", "NR {nr} = {ret}"},
    {"signal_generate",
     "sig={sig} errno={error} code={code} comm={pid:comm} pid={pid} grp={group} res={result}"},
    {"signal_deliver",
     "sig={sig} errno={error} code={code} sa_handler={sa_handler:hex} sa_flags={sa_flags:hex}"},
    {"mark_victim", "pid={pid} comm={pid:comm} uid={uid}"},
};

using Kind = FormatStep::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 6> kKinds{{{"comm", Kind::comm},
                                                                   {"hex", Kind::hex},
                                                                   {"pointer", Kind::pointer},
                                                                   {"symbol", Kind::symbol},
                                                                   {"truth", Kind::truth},
                                                                   {"accounted", Kind::accounted}}};

// "pid:comm", the text between braces.
std::optional<FormatStep> parse_reference(std::string_view reference, const Event& event) {
  size_t colon = std::min(reference.find(':'), reference.size());
  auto field = std::ranges::find(event.fields, reference.substr(0, colon), &Field::name);
  if (field == event.fields.end()) return std::nullopt;
  FormatStep step{.kind = Kind::value, .text = {}, .field = *field};
  if (colon == reference.size()) return step;
  std::string_view kind = reference.substr(colon + 1);
  if (kind.size() == 2 && kind[0] == '0' && kind[1] >= '1' && kind[1] <= '9') {
    step.kind = Kind::padded;
    step.width = static_cast<size_t>(kind[1] - '0');
    return step;
  }
  auto known = std::ranges::find(kKinds, kind, &std::pair<std::string_view, Kind>::first);
  if (known == kKinds.end()) return std::nullopt;
  step.kind = known->second;
  return step;
}

std::vector<FormatStep> generic_format(const Event& event) {
  std::vector<FormatStep> steps;
  for (const Field& field : event.fields) {
    std::string_view space = steps.empty() ? "" : " ";
    steps.push_back(
        {.kind = Kind::literal, .text = std::string(space) + field.name + "=", .field = {}});
    steps.push_back({.kind = Kind::value, .text = {}, .field = field});
  }
  return steps;
}

}  // namespace

std::optional<std::vector<FormatStep>> parse_format(std::string_view format, const Event& event) {
  std::vector<FormatStep> steps;
  while (!format.empty()) {
    size_t open = std::min(format.find('{'), format.size());
    if (open != 0)
      steps.push_back(
          {.kind = Kind::literal, .text = std::string(format.substr(0, open)), .field = {}});
    format.remove_prefix(open);
    if (format.empty()) break;
    size_t close = format.find('}');
    if (close == std::string_view::npos) return std::nullopt;
    auto step = parse_reference(format.substr(1, close - 1), event);
    if (!step) return std::nullopt;
    steps.push_back(std::move(*step));
    format.remove_prefix(close + 1);
  }
  return steps;
}

std::vector<FormatStep> ftrace_format_of(const Event& event) {
  auto known = std::ranges::find(kFormats, event.name, &EventFormat::event);
  if (known != std::end(kFormats))
    if (auto steps = parse_format(known->format, event)) return std::move(*steps);
  return generic_format(event);
}

}  // namespace ktraced
