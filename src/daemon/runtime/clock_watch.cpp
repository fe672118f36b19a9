// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/runtime/clock_watch.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <utility>

#include "base/clock.h"

namespace ktraced {
namespace {

// Resuming from a suspension rings too, and moves the clock by what it read inexactly.
constexpr int64_t kStepMinNs = 10'000'000;

// A timer that never expires. The kernel makes it readable whenever the clock is set, and read()
// rearms it.
Result<Fd> clock_bell() {
  Fd timer(::timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC));
  itimerspec never{};
  never.it_value.tv_sec = std::numeric_limits<time_t>::max();
  if (!timer || ::timerfd_settime(timer.get(), TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never,
                                  nullptr) != 0)
    return fail(ExitCode::os, "cannot watch the clock: {}", errno_text(errno));
  return timer;
}

}  // namespace

struct ClockWatch::State {
  Source source;
  OnStep on_step;
  int64_t offset = 0;  // as last reported

  void ring() {
    uint64_t ignored = 0;
    static_cast<void>(!::read(source.bell.get(), &ignored, sizeof(ignored)));
    const int64_t now = source.offset();
    const int64_t step = now - offset;
    if (std::abs(step) < kStepMinNs) return;
    offset = now;
    on_step(step);
  }
};

Result<ClockWatch> ClockWatch::start(EventLoop& loop, OnStep on_step) {
  auto bell = clock_bell();
  if (!bell) return propagate(bell);
  return start(loop, {.bell = std::move(*bell), .offset = clock_offset_ns}, std::move(on_step));
}

Result<ClockWatch> ClockWatch::start(EventLoop& loop, Source source, OnStep on_step) {
  ClockWatch watch;
  watch.state_ = std::make_shared<State>(
      State{.source = std::move(source), .on_step = std::move(on_step), .offset = 0});
  watch.state_->offset = watch.state_->source.offset();
  auto added = loop.add_io(watch.state_->source.bell.get(), EPOLLIN,
                           [state = watch.state_.get()](uint32_t) { state->ring(); });
  if (!added) return propagate(added);
  watch.source_ = std::move(*added);
  return watch;
}

}  // namespace ktraced
