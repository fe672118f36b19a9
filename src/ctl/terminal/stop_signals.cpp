// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/stop_signals.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <utility>

namespace ktraced {

namespace {

using Clock = std::chrono::steady_clock;

// timeout(1) signals its command and then the command's group: two signals for one request.
constexpr std::chrono::seconds kRepeatedWithin{1};

// nohup(1) ignores SIGHUP; a signalfd would receive it nevertheless.
bool is_ignored(int signal) {
  struct sigaction action{};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

sigset_t stop_set() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  if (!is_ignored(SIGHUP)) ::sigaddset(&set, SIGHUP);
  return set;
}

void watch(const Fd& signals, int stopped, int quit) {
  std::optional<Clock::time_point> first;
  for (;;) {
    std::array<pollfd, 2> wait{{{signals.get(), POLLIN, 0}, {quit, POLLIN, 0}}};
    while (::poll(wait.data(), wait.size(), -1) < 0 && errno == EINTR) {
    }
    if (wait[0].revents == 0) return;
    signalfd_siginfo info;
    if (::read(signals.get(), &info, sizeof(info)) != sizeof(info)) return;
    if (first && Clock::now() - *first >= kRepeatedWithin)
      ::_exit(128 + static_cast<int>(info.ssi_signo));
    if (first) continue;
    first = Clock::now();
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

bool StopSignals::stopped() const {
  pollfd wait{stopped_.get(), POLLIN, 0};
  return ::poll(&wait, 1, 0) > 0;
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
