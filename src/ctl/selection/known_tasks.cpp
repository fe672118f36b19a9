// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/selection/known_tasks.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/text/suggest.h"
#include "ctl/selection/cgroup_choice.h"
#include "ctl/selection/selection.h"
#include "schema/names.h"
#include "trace/metadata/container.h"

namespace ktraced {
namespace {

constexpr std::string_view kListCgroups =
    "; ktracectl query DIR 'SELECT DISTINCT cgroup FROM threads' lists the groups";

bool has_any(const std::set<uint32_t>& known, const std::vector<uint32_t>& values) {
  return std::ranges::any_of(values, [&](uint32_t value) { return known.contains(value); });
}

// "0, 33 and 1000", or the first of many.
std::string listed(const std::set<uint32_t>& numbers) {
  constexpr size_t kShown = 8;
  const std::vector<uint32_t> first(
      numbers.begin(),
      std::next(numbers.begin(), static_cast<ptrdiff_t>(std::min(numbers.size(), kShown))));
  return fmt::format("{}{}", fmt::join(first, ", "), numbers.size() > kShown ? ", …" : "");
}

// "this name", or "one of these names".
std::string this_or_these(std::string_view what, size_t count) {
  return count == 1 ? fmt::format("this {}", what) : fmt::format("one of these {}s", what);
}

// A suggestion for the first typed value that is like a known name; empty if none is.
std::string suggestion_of(const std::vector<std::string>& typed, const KnownNames& known) {
  for (const std::string& each : typed)
    if (std::string near = suggestion(each, known); !near.empty()) return near;
  return {};
}

}  // namespace

void KnownTasks::add_tasks(const NameTable& names) {
  names.for_each_task([&](uint32_t tid, const std::vector<TaskName>& versions) {
    for (const TaskName& version : versions) {
      if (version.tgid == 0) continue;  // it has ended
      tids_.insert(tid);
      pids_.insert(version.tgid);
      uids_.insert(version.uid);
      comms_.emplace(version.comm());
      if (version.cgroup != 0 && !cgroups_.contains(version.cgroup))
        cgroups_.emplace(version.cgroup, names.cgroup_path(version.cgroup));
    }
  });
}

// Each has an idle task, which belongs to root.
void KnownTasks::add_cpu(uint32_t cpu) {
  cpus_.insert(cpu);
  tids_.insert(0);
  pids_.insert(0);
  uids_.insert(0);
  comms_.insert(fmt::format("swapper/{}", cpu));
}

std::string KnownTasks::why_no_pid(const std::vector<uint32_t>& pids) const {
  if (tids_.empty() || has_any(pids_, pids) || has_any(tids_, pids)) return {};
  return fmt::format("no process or thread has {}", this_or_these("id", pids.size()));
}

std::string KnownTasks::why_no_tid(const std::vector<uint32_t>& tids) const {
  if (tids_.empty() || has_any(tids_, tids)) return {};
  return fmt::format("no thread has {}", this_or_these("id", tids.size()));
}

std::string KnownTasks::why_no_uid(const std::vector<uint32_t>& uids) const {
  if (uids_.empty() || has_any(uids_, uids)) return {};
  return fmt::format("no task is of {}; there are tasks of {}", this_or_these("user", uids.size()),
                     listed(uids_));
}

bool KnownTasks::has_comm(const std::string& pattern) const {
  return std::ranges::any_of(comms_,
                             [&](const std::string& comm) { return comm_matches(comm, pattern); });
}

std::string KnownTasks::why_no_comm(const std::vector<std::string>& comms) const {
  const auto known = [this](const std::string& each) { return has_comm(each); };
  if (comms_.empty() || std::ranges::any_of(comms, known)) return {};
  std::vector<std::string> typed;
  for (std::string_view each : comms) {
    if (each.ends_with('*')) each.remove_suffix(1);
    typed.emplace_back(each);
  }
  return fmt::format("no task has {}{}", this_or_these("name", comms.size()),
                     suggestion_of(typed, comms_));
}

bool KnownTasks::has_cgroup(const std::string& text) const {
  const CgroupChoice choice({text});
  return std::ranges::any_of(
      cgroups_, [&](const auto& group) { return choice.contains(group.first, group.second); });
}

// What --cgroup takes, apart from ids.
std::set<std::string> KnownTasks::cgroup_names() const {
  std::set<std::string> names;
  for (const auto& [id, path] : cgroups_) {
    std::string_view shown = path;
    while (shown.starts_with('/')) shown.remove_prefix(1);
    if (!shown.empty()) names.emplace(shown);
    const auto container = container_of(path);
    if (!container) continue;
    names.insert(container->id);
    if (!container->pod.empty()) names.insert(container->pod);
  }
  return names;
}

std::string KnownTasks::why_no_cgroup(const std::vector<std::string>& cgroups) const {
  const auto known = [this](const std::string& each) { return has_cgroup(each); };
  if (tids_.empty() || std::ranges::any_of(cgroups, known)) return {};
  if (cgroups_.empty()) return "the trace has no control groups";
  const std::set<std::string> names = cgroup_names();
  const std::string near = suggestion_of(cgroups, names);
  return fmt::format("no task was in {}{}", this_or_these("group", cgroups.size()),
                     near.empty() ? kListCgroups : near);
}

std::string KnownTasks::why_no_cpu(const std::vector<uint32_t>& cpus) const {
  if (cpus_.empty() || has_any(cpus_, cpus)) return {};
  return fmt::format("the trace is of {} {}", cpus_.size() == 1 ? "CPU" : "CPUs", listed(cpus_));
}

std::vector<std::string> KnownTasks::partly_unknown(const SelectionArgs& args) const {
  std::vector<std::string> notes;
  const auto add = [&](const char* option, const auto& values, const auto& why_none) {
    if (values.size() < 2 || !(this->*why_none)(values).empty()) return;
    for (const auto& value : values)
      if (const std::string why = (this->*why_none)({value}); !why.empty())
        notes.push_back(fmt::format("{} {}: {}", option, value, why));
  };
  add("--uid", args.uids, &KnownTasks::why_no_uid);
  add("--comm", args.comms, &KnownTasks::why_no_comm);
  add("--cgroup", args.cgroups, &KnownTasks::why_no_cgroup);
  return notes;
}

}  // namespace ktraced
