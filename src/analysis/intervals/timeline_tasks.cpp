// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/timeline_tasks.h"

namespace ktraced {

uint32_t TimelineTasks::number_of(uint32_t tid, uint64_t ts, const NameTable& names) {
  const TaskName* name = names.task_at(tid, ts);
  const auto last = last_.find(tid);
  if (last != last_.end() && is(last->second, name)) return last->second;
  const auto [begin, end] = by_tid_.equal_range(tid);
  for (auto each = begin; each != end; ++each)
    if (is(each->second, name)) return last_[tid] = each->second;
  return add(tid, name);
}

bool TimelineTasks::is(uint32_t number, const TaskName* name) const {
  const TimelineTask& task = list_[number];
  if (name == nullptr) return task.comm.empty();
  return task.comm == name->comm() && task.start_ns == name->start_time;
}

uint32_t TimelineTasks::add(uint32_t tid, const TaskName* name) {
  if (list_.size() >= limit_) {
    if (!list_.back().others) list_.push_back({.comm = "", .others = true});
    return static_cast<uint32_t>(list_.size() - 1);
  }
  const auto number = static_cast<uint32_t>(list_.size());
  list_.push_back({.tid = tid,
                   .pid = name != nullptr ? name->tgid : 0,
                   .start_ns = name != nullptr ? name->start_time : 0,
                   .comm = name != nullptr ? std::string(name->comm()) : ""});
  by_tid_.emplace(tid, number);
  return last_[tid] = number;
}

}  // namespace ktraced
