// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/programs/task_tracking.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <utility>

#include "kernel/filters/filters.h"

namespace ktraced {
namespace {

constexpr const char* kForked = "sched_process_fork";
constexpr std::array kNameTrackers = {kForked, "sched_process_exec", "task_rename"};

// Programs that have no event.
constexpr const char* kChildBorn = "child_born";
constexpr const char* kExecBegins = "exec_begins";
constexpr const char* kUserChanged = "user_changed";
constexpr const char* kTaskFreed = "task_freed";
constexpr const char* kCgroupChanged = "cgroup_changed";
constexpr const char* kCgroupMade = "cgroup_made";
constexpr const char* kCgroupRemoved = "cgroup_removed";

}  // namespace

void TaskTracking::Tracked::add(const TaskFilter& filter) {
  for (const FilterSide* side : {&filter.include, &filter.exclude}) {
    names |= !side->follow.empty();
    cgroups |= !side->cgroup.empty();
  }
  threads |= names || cgroups;
}

bool TaskTracking::tracks_names(const std::string& event) {
  return std::ranges::find(kNameTrackers, event) != kNameTrackers.end();
}

std::vector<std::string> TaskTracking::helpers() {
  return {kChildBorn,     kExecBegins, kUserChanged,  kTaskFreed,
          kCgroupChanged, kCgroupMade, kCgroupRemoved};
}

std::vector<ProgramNeed> TaskTracking::helper_needs(const Tracked& tracked) const {
  std::vector<ProgramNeed> needs;
  for (const auto& [name, needed] :
       {std::pair(kChildBorn, tracked.names), std::pair(kExecBegins, tracked.names),
        std::pair(kUserChanged, tracked.names), std::pair(kTaskFreed, tracked.threads),
        std::pair(kCgroupChanged, tracked.names || tracked.cgroups),
        std::pair(kCgroupMade, tracked.names), std::pair(kCgroupRemoved, tracked.names)})
    if (availability_.supports(name))
      needs.push_back({.program = {.name = name}, .needed = needed, .first = true});
  return needs;
}

ProgramAttacher::Preparation TaskTracking::preparation(const Tracked& tracked) const {
  ProgramAttacher::Preparation preparation;
  for (const ProgramNeed& need : helper_needs(tracked))
    if (need.needed) preparation.programs.insert(need.program.name);
  if (!tracked.names) return preparation;
  for (const char* program : kNameTrackers)
    if (availability_.supports(program)) preparation.programs.insert(program);
  if (availability_.supports(kForked)) preparation.required.insert(kForked);
  return preparation;
}

void TaskTracking::begin() {
  if (check_due_ || all_attached()) return;
  check_due_ = true;
  names_.begin();
}

// While no program was attached, threads may have changed: what their filters say is asked again.
void TaskTracking::check_names() {
  names_.check();
  const auto read = names_.check_cgroups();
  if (!read) spdlog::info("paths of control groups may be missing: {}", read.error().message);
  evict_threads(object_.control());
}

void TaskTracking::check_if_attached() {
  if (check_due_ && all_attached()) finish();
}

void TaskTracking::finish() {
  if (std::exchange(check_due_, false)) check_names();
}

std::vector<std::string> TaskTracking::attach_now(ProgramAttacher& attacher) {
  std::vector<std::string> programs = helpers();
  programs.insert(programs.begin(), kNameTrackers.begin(), kNameTrackers.end());
  std::erase_if(programs, [this](const std::string& program) {
    return object_.attached(program) || !availability_.supports(program);
  });
  const bool check = !all_attached();
  if (check) names_.begin();
  for (const std::string& program : programs) attacher.attach_now({.name = program});
  if (check)
    check_names();
  else
    evict_threads(object_.control());
  return programs;
}

bool TaskTracking::all_attached() const {
  auto attached = [this](const std::string& program) {
    return object_.attached(program) || !availability_.supports(program);
  };
  return attached(kChildBorn) && std::ranges::all_of(kNameTrackers, attached);
}

}  // namespace ktraced
