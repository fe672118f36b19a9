// SPDX-License-Identifier: BSD-2-Clause
// A thread of another process that stands still.
#pragma once

#include <sys/types.h>

#include <string>

namespace ktraced::live {

// Stops one thread, by ptrace(2), while the others of its process go on: so a test can bring about
// what otherwise would need luck. Belongs to the thread that made it.
class HeldThread {
 public:
  // Throws if it cannot be stopped.
  explicit HeldThread(pid_t tid);
  // Finds the thread by its name.
  HeldThread(pid_t process, const std::string& name);
  HeldThread(const HeldThread&) = delete;
  HeldThread& operator=(const HeldThread&) = delete;
  ~HeldThread() { release(); }

  // Lets it go on until its next system call begins or ends. Throws if it is gone.
  void step();
  // Lets it go on. After its process was killed this must come before waiting for that.
  void release();

 private:
  pid_t tid_;
  bool leader_;  // the main thread: whoever waits for its process waits for it
};

}  // namespace ktraced::live
