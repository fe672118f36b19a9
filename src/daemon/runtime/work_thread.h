// SPDX-License-Identifier: BSD-2-Clause
// A thread for work that waits for the disk.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "daemon/runtime/failure_barrier.h"
#include "daemon/runtime/priority.h"

namespace ktraced {

// Runs tasks one after the other: those of normal priority first, and those of the same priority in
// the order they were added. An exception of a task is logged, and ends that task only.
class WorkThread {
 public:
  // `name`: at most 15 characters, as shown by ps and top.
  explicit WorkThread(const char* name);
  WorkThread(const WorkThread&) = delete;
  WorkThread& operator=(const WorkThread&) = delete;
  // Returns when all tasks are done.
  ~WorkThread();

  // Thread-safe.
  void run(std::function<void()> task, Priority priority = Priority::normal);

 private:
  void work();

  FailureBarrier barrier_;
  std::mutex mutex_;
  std::condition_variable changed_;
  PriorityQueue<std::function<void()>> tasks_;  // guarded by mutex_
  bool ending_ = false;                         // guarded by mutex_
  std::thread thread_;
};

}  // namespace ktraced
