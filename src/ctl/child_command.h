// SPDX-License-Identifier: BSD-2-Clause
// A command that is run for somebody who watches.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// A child process that exists, and can be watched, before it runs its program. Destroyed
// before go() it never does; destroyed while it runs it is left alone. Move-only.
class ChildCommand {
 public:
  // Makes the process. Call it before other threads and before signals are blocked, which the
  // command would inherit. Fails with ExitCode::os.
  static Result<ChildCommand> prepare(std::vector<std::string> words);
  ChildCommand(ChildCommand&& other) noexcept;
  ChildCommand& operator=(ChildCommand&&) = delete;
  ~ChildCommand();

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Readable when it has ended.
  [[nodiscard]] int fd() const { return pidfd_.get(); }

  // Runs the program. Fails with kNotFound or kNotExecutable, as a shell would end.
  Result<> go();
  // Asks it to end.
  void terminate() const;
  // Its exit code, 128 + N if signal N has ended it; waits until it has ended.
  int wait();

  static constexpr int kNotFound = 127;
  static constexpr int kNotExecutable = 126;

 private:
  ChildCommand(pid_t pid, Fd pidfd, Fd start, Fd failed, std::string name)
      : pid_(pid),
        pidfd_(std::move(pidfd)),
        start_(std::move(start)),
        failed_(std::move(failed)),
        name_(std::move(name)) {}

  pid_t pid_;  // 0: moved from, or waited for
  Fd pidfd_;
  Fd start_;   // the child waits for a byte from it
  Fd failed_;  // gives the errno if the program cannot be run, else nothing
  std::string name_;
};

}  // namespace ktraced
