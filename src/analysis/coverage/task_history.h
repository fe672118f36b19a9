// SPDX-License-Identifier: BSD-2-Clause
// All threads and processes that traces know, over their whole lives.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "trace/merge/history.h"

namespace ktraced {

// A thread, or a process. Times are ns, CLOCK_BOOTTIME.
struct Task {
  uint32_t pid = 0;
  uint32_t uid = 0;
  uint64_t start_ns = 0;  // 0: unknown
  uint64_t end_ns = 0;    // of a process: of its last thread. 0: it has not ended, or is unknown
  // The begin of the first trace that does not know it any more, or the time since when that one
  // has all names, if that is later: it has ended before. UINT64_MAX: there is none.
  uint64_t gone_by_ns = UINT64_MAX;
  std::string comm;        // the last one
  std::string cgroup;      // path of its control group, the last one known; may be empty
  uint64_t cgroup_id = 0;  // of that group; if no path is known, of its last one. 0: unknown

  // The parent of its process when it was first seen, see TaskName::parent. When the events have
  // been read, a process has the one that forked it here, if the traces have that, and its parent
  // at its first exec if no other is known.
  std::optional<uint32_t> parent_pid;

  uint64_t threads = 0;  // of a process, that the traces know
  // The arguments of a process's last exec up to the end of the window; if that is not in the
  // traces, what the daemon read from /proc. Only processes have it.
  std::optional<std::string> argv;
  uint64_t argv_read_ns = 0;         // when it did; 0: `argv` is of an exec
  std::optional<int32_t> exit_code;  // the status that wait(2) gives
};
// Does it live at `ns`, as far as the traces know? UINT64_MAX: at their end.
[[nodiscard]] bool lives_at(const Task& task, uint64_t ns);
// Threads or processes by their id and start. Those with one id are in order of time.
using Tasks = std::map<std::pair<uint32_t, uint64_t>, Task>;

// Reads the names of tasks at once, and their events only if it is asked to.
class TaskHistory {
 public:
  // `history` must outlive this.
  explicit TaskHistory(const History& history);

  // Completes the tasks by what events say: when they end and how, who has forked them, what they
  // run in the window. Reads all events, whatever the window of the history is, but only once.
  // False: `stop` has become true.
  bool read_events(const std::atomic<bool>& stop);

  [[nodiscard]] const Tasks& threads() const { return threads_; }
  // A process is known by its main thread, or else by any other one.
  [[nodiscard]] const Tasks& processes() const { return processes_; }
  // The key of the process of one of the threads.
  [[nodiscard]] Tasks::key_type process_of(const Tasks::value_type& thread) const;
  // The process with that id that was the latest to begin up to `ts`; null if none is known.
  [[nodiscard]] const Task* process_at(uint32_t pid, uint64_t ts) const;

 private:
  const History& history_;
  Tasks threads_, processes_;
  bool events_read_ = false;
};

}  // namespace ktraced
