// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/command_records.h"

#include <algorithm>

namespace ktraced {

void CommandRecords::take(const PacketView& packet) {
  if (found_) return;
  packet.for_each_record([this](RecordView record) {
    if (names_.apply(record) || record.tid() == 0) return;
    found_ = found_ || record.tid() == pid_;
    last_[record.tid()] = record.ts();
  });
}

bool CommandRecords::any() const {
  return found_ || std::ranges::any_of(last_, [this](const auto& thread) {
           return is_own(thread.first, thread.second);
         });
}

// Names that contradict each other may make a circle of parents.
bool CommandRecords::is_own(uint32_t tid, uint64_t ts) const {
  constexpr int kMaxDepth = 100;
  const TaskName* task = names_.task_at(tid, ts);
  for (int depth = 0; task != nullptr && depth < kMaxDepth; ++depth) {
    if (task->tgid == pid_ || task->parent == pid_) return true;
    if (task->start_time != 0) ts = task->start_time;  // its parent lived then
    task = names_.task_at(task->parent, ts);
  }
  return false;
}

}  // namespace ktraced
