// SPDX-License-Identifier: BSD-2-Clause
// Numbers threads by name and id.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "trace/metadata/name_table.h"

namespace ktraced {

// A thread under one name.
struct TimelineTask {
  uint32_t tid = 0;
  uint32_t pid = 0;       // its process; 0 if unknown
  uint64_t start_ns = 0;  // of the thread; 0 if unknown
  std::string comm;
  bool others = false;  // all tasks after the limit was reached
};

// Numbers threads. A thread gets another number when it changes its name; so does another thread
// that reuses its id. Memory: `limit` tasks.
class TimelineTasks {
 public:
  explicit TimelineTasks(size_t limit) : limit_(limit) {}

  // The number of a thread at a time.
  uint32_t number_of(uint32_t tid, uint64_t ts, const NameTable& names);
  // The threads by number, see number_of().
  [[nodiscard]] const std::vector<TimelineTask>& list() const { return list_; }

 private:
  uint32_t add(uint32_t tid, const TaskName* name);
  [[nodiscard]] bool is(uint32_t number, const TaskName* name) const;

  size_t limit_;
  std::vector<TimelineTask> list_;
  std::unordered_multimap<uint32_t, uint32_t> by_tid_;
  std::unordered_map<uint32_t, uint32_t> last_;  // number by thread
};

}  // namespace ktraced
