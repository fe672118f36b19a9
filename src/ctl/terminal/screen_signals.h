// SPDX-License-Identifier: BSD-2-Clause
// Signals of the terminal, for programs that draw on the whole of it.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// Blocks SIGWINCH, SIGTSTP (Ctrl-Z) and SIGCONT and makes them readable from fd(), until it is
// destroyed. If SIGTSTP is ignored, it stays ignored: nobody would continue the process. Create it
// before other threads: these must not get the signals. One at a time.
class ScreenSignals {
 public:
  static Result<ScreenSignals> catch_signals() {
    const sigset_t set = signals();
    Fd fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd) return fail(ExitCode::os, "cannot wait for signals: {}", errno_text(errno));
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    return ScreenSignals(std::move(fd));
  }
  ScreenSignals(ScreenSignals&&) noexcept = default;
  ScreenSignals& operator=(ScreenSignals&&) = delete;
  ~ScreenSignals() { release(); }

  // Becomes readable at a signal.
  [[nodiscard]] int fd() const { return fd_.get(); }
  // The next signal; does not wait. 0: there is none.
  [[nodiscard]] int next() const {
    signalfd_siginfo info;
    if (::read(fd_.get(), &info, sizeof(info)) != sizeof(info)) return 0;
    return static_cast<int>(info.ssi_signo);
  }
  // Unblocks them.
  void release() {
    if (!fd_) return;  // released, or moved from
    const sigset_t set = signals();
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
    fd_.reset();
  }

 private:
  explicit ScreenSignals(Fd fd) : fd_(std::move(fd)) {}

  static sigset_t signals() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGWINCH);
    ::sigaddset(&set, SIGCONT);
    struct sigaction action{};
    const bool stops = ::sigaction(SIGTSTP, nullptr, &action) == 0 && action.sa_handler != SIG_IGN;
    if (stops) ::sigaddset(&set, SIGTSTP);
    return set;
  }

  Fd fd_;
};

}  // namespace ktraced
