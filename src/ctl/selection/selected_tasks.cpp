// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/selection/selected_tasks.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <vector>

namespace ktraced {
namespace {

using Versions = std::vector<TaskName>;

// The threads of one trace.
class Threads {
 public:
  Threads(const NameTable& names, const Selection& selection, const TimeWindow& window)
      : names_(names), selection_(selection), window_(window) {
    names.for_each_task(
        [this](uint32_t tid, const Versions& versions) { versions_[tid] = &versions; });
  }

  void select(std::set<Tasks::key_type>& selected) const {
    for (const auto& [tid, versions] : versions_)
      for (size_t i = 0; i < versions->size(); ++i)
        if (is_selected(tid, *versions, i)) selected.emplace(tid, (*versions)[i].start_time);
  }

 private:
  // At the beginning and the end of what is known of this version within the window, and when its
  // process was moved to another control group in between.
  [[nodiscard]] bool is_selected(uint32_t tid, const Versions& versions, size_t number) const {
    const TaskName& version = versions[number];
    if (version.tgid == 0) return false;  // it has ended
    const bool is_last = number + 1 == versions.size();
    const uint64_t begin = number == 0 ? 0 : version.since;
    const TimeWindow known{
        .begin_ns = std::max(begin, window_.begin_ns),
        .end_ns = std::min(is_last ? UINT64_MAX : versions[number + 1].since - 1, window_.end_ns)};
    if (known.begin_ns > known.end_ns) return false;
    const auto selected_at = [&](uint64_t ts) {
      return known.contains(ts) && selection_.wants_task(tid, ts, 0, names_);
    };
    if (selected_at(known.begin_ns) || selected_at(known.end_ns)) return true;
    const auto leader = versions_.find(version.tgid);
    return leader != versions_.end() &&
           std::ranges::any_of(*leader->second, selected_at, &TaskName::since);
  }

  const NameTable& names_;
  const Selection& selection_;
  const TimeWindow& window_;
  std::unordered_map<uint32_t, const Versions*> versions_;
};

}  // namespace

SelectedTasks::SelectedTasks(const History& history, std::span<const Selection> selections)
    : window_(history.window()) {
  if (selections.empty() || !selections.front().has_task_conditions()) return;
  all_ = false;
  for (size_t i = 0; i < history.traces().size(); ++i)
    Threads(history.traces()[i].names(), selections[i], window_).select(threads_);
}

bool SelectedTasks::has_thread(const Tasks::value_type& thread) const {
  return lives_in(thread.second, window_) && (all_ || threads_.contains(thread.first));
}

std::set<Tasks::key_type> SelectedTasks::processes_of(const TaskHistory& tasks) const {
  std::set<Tasks::key_type> processes;
  for (const auto& thread : tasks.threads())
    if (has_thread(thread)) processes.insert(tasks.process_of(thread));
  return processes;
}

bool lives_in(const Task& task, const TimeWindow& window) {
  if (task.start_ns > window.end_ns) return false;
  return task.end_ns != 0 ? task.end_ns >= window.begin_ns : task.gone_by_ns > window.begin_ns;
}

}  // namespace ktraced
