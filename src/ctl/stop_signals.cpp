#include "ctl/stop_signals.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace ktraced {

namespace {

sigset_t stop_set() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  return set;
}

void watch(const Fd& signals, int stopped, int quit) {
  for (bool again = false;; again = true) {
    std::array<pollfd, 2> wait{{{signals.get(), POLLIN, 0}, {quit, POLLIN, 0}}};
    while (::poll(wait.data(), wait.size(), -1) < 0 && errno == EINTR) {
    }
    if (wait[0].revents == 0) return;
    signalfd_siginfo info;
    if (::read(signals.get(), &info, sizeof(info)) != sizeof(info)) return;
    if (again) ::_exit(128 + static_cast<int>(info.ssi_signo));
    ::eventfd_write(stopped, 1);
  }
}

}  // namespace

Result<StopSignals> StopSignals::catch_signals() {
  sigset_t set = stop_set();
  Fd signals(::signalfd(-1, &set, SFD_CLOEXEC));
  Fd stopped(::eventfd(0, EFD_CLOEXEC));
  Fd quit(::eventfd(0, EFD_CLOEXEC));
  if (!signals || !stopped || !quit)
    return fail(ExitCode::os, "cannot wait for signals: {}", errno_text(errno));
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return StopSignals(std::move(signals), std::move(stopped), std::move(quit));
}

StopSignals::StopSignals(Fd signals, Fd stopped, Fd quit)
    : stopped_(std::move(stopped)), quit_(std::move(quit)) {
  thread_ = std::thread([fd = std::move(signals), stop = stopped_.get(), end = quit_.get()] {
    watch(fd, stop, end);
  });
}

StopSignals::~StopSignals() {
  if (!thread_.joinable()) return;  // moved from
  ::eventfd_write(quit_.get(), 1);
  thread_.join();
  sigset_t set = stop_set();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace ktraced
