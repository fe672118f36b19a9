// SPDX-License-Identifier: BSD-2-Clause
// A stopped thread of another process.
#pragma once

#include <sys/types.h>

#include <string>

namespace ktraced::live {

// Stops one thread by ptrace(2) while the others of its process continue, so that tests can create
// races reliably. Must be used by the thread that created it.
class HeldThread {
 public:
  // Throws if it cannot be stopped.
  explicit HeldThread(pid_t tid);
  // Finds the thread by its name.
  HeldThread(pid_t process, const std::string& name);
  HeldThread(const HeldThread&) = delete;
  HeldThread& operator=(const HeldThread&) = delete;
  ~HeldThread() { release(); }

  // Continues it until its next system call begins or ends. Throws if it no longer exists.
  void step();
  // Continues it. If its process was killed, call this before waiting for the process.
  void release();

 private:
  pid_t tid_;
  bool leader_;  // the main thread: waiting for its process also waits for it
};

}  // namespace ktraced::live
