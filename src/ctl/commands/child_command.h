// SPDX-License-Identifier: BSD-2-Clause
// A command that runs while it is being recorded.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// A child process that can be watched before it runs its program. If this is destroyed before go(),
// the program never runs; if destroyed later, the process keeps running. Move-only.
class ChildCommand {
 public:
  // Creates the process. Call it before other threads start and before signals are blocked, because
  // the command would inherit both. Fails with ExitCode::os.
  static Result<ChildCommand> prepare(std::vector<std::string> words);
  ChildCommand(ChildCommand&& other) noexcept;
  ChildCommand& operator=(ChildCommand&&) = delete;
  ~ChildCommand();

  [[nodiscard]] pid_t pid() const { return pid_; }
  // Readable when the command has ended.
  [[nodiscard]] int fd() const { return pidfd_.get(); }

  // Runs the program. Fails with kNotFound or kNotExecutable, as a shell would end.
  Result<> go();
  // Sends SIGTERM.
  void terminate() const;
  // Waits for the end. Returns the exit code, or 128 + N if signal N has ended the command.
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

  pid_t pid_;  // 0: moved from, or already waited for
  Fd pidfd_;
  Fd start_;   // the child waits for a byte from this
  Fd failed_;  // gets the errno if the program cannot be run, otherwise nothing
  std::string name_;
};

}  // namespace ktraced
