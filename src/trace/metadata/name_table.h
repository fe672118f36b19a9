// SPDX-License-Identifier: BSD-2-Clause
// Names and control groups of threads over time, command lines of processes, and names of slab
// caches.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/metadata/command_record.h"
#include "trace/packet/packet.h"

namespace ktraced {

// A thread's identity from a time on, until the next version of the same thread id.
struct TaskName {
  uint64_t since = 0;       // ns, CLOCK_BOOTTIME
  uint64_t start_time = 0;  // ns, CLOCK_BOOTTIME: of the thread
  uint32_t tgid = 0;
  uint32_t uid = 0;
  std::array<char, COMM_LEN> comm_bytes{};  // NUL-terminated unless full
  uint64_t cgroup = 0;                      // id of its control group; 0: unknown
  uint32_t parent = 0;  // process that was its process's parent when it was first seen; 0: none, or
                        // unknown

  // Valid as long as this object.
  [[nodiscard]] std::string_view comm() const;
};

// Answers "who was thread 812 at that time" from the metadata records of a stream or trace. Thread
// ids are reused and threads change their names, so it keeps several versions of each. Memory is
// bounded unless everything is kept: each thread keeps its newest versions, and the least recently
// used threads are evicted, as are control groups that no known thread is or was in.
class NameTable {
 public:
  static constexpr size_t kVersionsPerTask = 8;
  static constexpr size_t kMaxTasks = 131072;
  static constexpr size_t kMaxCaches = 65536;
  static constexpr size_t kMaxCgroups = 65536;
  static constexpr size_t kMaxCommands = 65536;

  explicit NameTable(size_t max_tasks = kMaxTasks, size_t versions_per_task = kVersionsPerTask)
      : max_tasks_(max_tasks), versions_per_task_(versions_per_task) {}
  // Never evicts a task: for a finished trace, whose names are all known in advance.
  static NameTable unbounded() { return NameTable(SIZE_MAX, SIZE_MAX); }

  // Takes a metadata record; false if this version does not know its kind.
  bool apply(RecordView record);

  // The thread's newest version with since <= ts, or if there is none the
  // earliest known; nullptr if the thread is unknown or had ended (a version of process 0), and for
  // thread 0, which is the idle task of each CPU. Valid until the next apply().
  [[nodiscard]] const TaskName* task_at(uint32_t tid, uint64_t ts) const;

  // Name of a slab cache, empty if unknown. Valid until the next apply().
  [[nodiscard]] std::string_view cache_name(uint64_t key) const;

  // The id of the thread's control group at that time; 0 if it is unknown. A move of a process is
  // recorded for its leader: it moves all threads that were not moved on their own since then.
  [[nodiscard]] uint64_t cgroup_at(uint32_t tid, uint64_t ts) const;
  // Path of a control group below the root of its hierarchy, empty if unknown. Valid until the next
  // apply().
  [[nodiscard]] std::string_view cgroup_path(uint64_t id) const;

  // The command line of a process, as it was last read. `start_ns`: of the process; 0: unknown.
  // Null if it was not read. Valid until the next apply().
  [[nodiscard]] const CommandLine* command_of(uint32_t pid, uint64_t start_ns) const;
  // Calls `visit(command)` for each command line, those of a process id in the order of their
  // processes.
  template <class Visit>
  void for_each_command(Visit&& visit) const {
    for (const auto& [process, command] : commands_) visit(command);
  }

  // Calls `visit(tid, versions)` for each thread, in no order; `versions` is a vector of TaskName
  // in time order. A version of process 0 says that the thread had ended.
  template <class Visit>
  void for_each_task(Visit&& visit) const {
    for (const auto& [tid, task] : tasks_) visit(tid, task.versions);
  }
  [[nodiscard]] size_t task_count() const { return tasks_.size(); }

 private:
  struct Task {
    std::vector<TaskName> versions;  // by since, at most versions_per_task_
    mutable uint64_t used = 0;       // value of clock_ when last asked for
  };

  void apply_task(const rec_metadata_task& record);
  bool apply_cgroup(RecordView record);
  bool apply_command(RecordView record);
  [[nodiscard]] const TaskName* move_of(uint32_t leader, uint64_t ts) const;
  void evict_unused();
  void evict_empty_cgroups();

  size_t max_tasks_;
  size_t versions_per_task_;
  mutable uint64_t clock_ = 0;
  std::unordered_map<uint32_t, Task> tasks_;
  std::unordered_map<uint64_t, std::string> caches_;
  std::unordered_map<uint64_t, std::string> cgroups_;              // paths by id
  std::map<std::pair<uint32_t, uint64_t>, CommandLine> commands_;  // by process id and start
};

}  // namespace ktraced
