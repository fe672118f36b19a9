// SPDX-License-Identifier: BSD-2-Clause
// The threads that a selection is about.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <utility>

#include "analysis/coverage/task_history.h"
#include "ctl/selection/selection.h"
#include "trace/merge/history.h"

namespace ktraced {

// Threads that --pid, --tid, --uid, --comm and --cgroup select at some time of the window of a
// history, by what the traces know of them; and their processes. Without such options, all.
class SelectedTasks {
 public:
  // `selections`: one for each trace; empty: everything. Not used later.
  SelectedTasks(const History& history, std::span<const Selection> selections);

  [[nodiscard]] bool is_all() const { return all_; }
  // A thread of `tasks`, by its id and start.
  [[nodiscard]] bool has_thread(const Tasks::value_type& thread) const;
  // The processes of the selected threads, by their keys.
  [[nodiscard]] std::set<Tasks::key_type> processes_of(const TaskHistory& tasks) const;

 private:
  bool all_ = true;
  TimeWindow window_;
  std::set<Tasks::key_type> threads_;
};

// Does its life, as far as it is known, touch the window?
[[nodiscard]] bool lives_in(const Task& task, const TimeWindow& window);

}  // namespace ktraced
