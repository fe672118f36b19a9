// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/query/cancel_on_signal.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>

namespace ktraced {
namespace {

sigset_t only_interrupt() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}

// Calls `cancel` for each signal, until `quit` is readable.
void wait_for_signals(int signals, int quit, const std::function<void()>& cancel) {
  while (true) {
    pollfd polled[2] = {{signals, POLLIN, 0}, {quit, POLLIN, 0}};
    if (::poll(polled, 2, -1) < 0 && errno != EINTR) return;
    if (polled[1].revents != 0) return;
    signalfd_siginfo signal;
    if (polled[0].revents != 0 && ::read(signals, &signal, sizeof(signal)) > 0) cancel();
  }
}

}  // namespace

Result<std::unique_ptr<CancelOnSignal>> CancelOnSignal::start(std::function<void()> cancel) {
  const sigset_t interrupt = only_interrupt();
  Fd signals(::signalfd(-1, &interrupt, SFD_CLOEXEC | SFD_NONBLOCK));
  Fd quit(::eventfd(0, EFD_CLOEXEC));
  if (!signals || !quit)
    return fail(ExitCode::os, "cannot watch for Ctrl-C: {}", errno_text(errno));
  return std::unique_ptr<CancelOnSignal>(
      new CancelOnSignal(std::move(signals), std::move(quit), std::move(cancel)));
}

CancelOnSignal::CancelOnSignal(Fd signals, Fd quit, std::function<void()> cancel)
    : signals_(std::move(signals)), quit_(std::move(quit)), cancel_(std::move(cancel)) {
  const sigset_t interrupt = only_interrupt();
  ::pthread_sigmask(SIG_BLOCK, &interrupt, &before_);
  thread_ = std::thread([this] { wait_for_signals(signals_.get(), quit_.get(), cancel_); });
}

CancelOnSignal::~CancelOnSignal() {
  const uint64_t one = 1;
  // The write cannot fail: the counter is 0.
  if (::write(quit_.get(), &one, sizeof(one)) == sizeof(one)) thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace ktraced
