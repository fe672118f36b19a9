// SPDX-License-Identifier: BSD-2-Clause
// What threads and slab caches were called, and when.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/packet.h"

namespace ktraced {

// A thread's identity from a time on, until the next version of the same thread id.
struct TaskName {
  uint64_t since = 0;       // ns, CLOCK_BOOTTIME
  uint64_t start_time = 0;  // ns, CLOCK_BOOTTIME: of the thread
  uint32_t tgid = 0;
  uint32_t uid = 0;
  std::array<char, COMM_LEN> comm_bytes{};  // NUL-terminated unless full

  // Valid as long as this object.
  [[nodiscard]] std::string_view comm() const;
};

// Answers "who was thread 812 at that time" from the name records of a stream or
// trace. Thread ids are used again and threads change their names, so several
// versions of each are kept. Memory is bounded, unless it is made to keep everything: each
// thread keeps its newest versions, and of all threads those are forgotten that were asked
// for longest ago.
class NameTable {
 public:
  static constexpr size_t kVersionsPerTask = 8;
  static constexpr size_t kMaxTasks = 131072;
  static constexpr size_t kMaxCaches = 65536;

  explicit NameTable(size_t max_tasks = kMaxTasks, size_t versions_per_task = kVersionsPerTask)
      : max_tasks_(max_tasks), versions_per_task_(versions_per_task) {}
  // Forgets no task: for a finished trace, whose names are known all at once.
  static NameTable unbounded() { return NameTable(SIZE_MAX, SIZE_MAX); }

  // Takes a name record; false if it is none that this version knows.
  bool apply(RecordView record);

  // The thread's newest version with since <= ts, or if there is none the
  // earliest known; nullptr if the thread is unknown or had ended (a version of process 0), and for
  // thread 0, which is the idle task of each CPU. Valid until the next apply().
  [[nodiscard]] const TaskName* task_at(uint32_t tid, uint64_t ts) const;

  // Name of a slab cache, empty if unknown. Valid until the next apply().
  [[nodiscard]] std::string_view cache_name(uint64_t key) const;

  [[nodiscard]] size_t task_count() const { return tasks_.size(); }

 private:
  struct Task {
    std::vector<TaskName> versions;  // by since, at most versions_per_task_
    mutable uint64_t used = 0;       // value of clock_ when last asked for
  };

  void apply_task(const rec_name_task& record);
  void forget_unused();

  size_t max_tasks_;
  size_t versions_per_task_;
  mutable uint64_t clock_ = 0;
  std::unordered_map<uint32_t, Task> tasks_;
  std::unordered_map<uint64_t, std::string> caches_;
};

}  // namespace ktraced
