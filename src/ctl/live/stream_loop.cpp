// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/live/stream_loop.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace ktraced {

std::optional<StreamLoop::Clock::duration> StreamLoop::duration_of(std::optional<double> seconds) {
  if (!seconds) return std::nullopt;
  constexpr double kLongest = 100.0 * 365 * 86400;  // larger values would overflow the clock
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(*seconds, kLongest)));
}

Result<> StreamLoop::verdict_of(End end, const std::string& reason) {
  if (end != End::hung_up) return {};
  if (!reason.empty())
    return fail(ExitCode::unavailable, "ktraced has ended the stream: {}", reason);
  return fail(ExitCode::unavailable, "{}", kBrokenOff);
}

Result<StreamLoop::Ready> StreamLoop::wait(Clock::time_point until) {
  // While finishing, the stop descriptor stays readable and is not polled.
  std::vector<pollfd> fds{
      {source_.fd(), POLLIN, 0}, {finishing_ ? -1 : stop_fd_, POLLIN, 0}, {output_, 0, 0}};
  for (const Watched& watched : watched_) fds.push_back({watched.fd, POLLIN, 0});
  int timeout = -1;
  if (until != Clock::time_point::max()) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    timeout = static_cast<int>(std::clamp<int64_t>(left, 0, 3600'000));
  }
  if (::poll(fds.data(), fds.size(), timeout) < 0) {
    if (errno == EINTR) return Ready{};
    return fail(ExitCode::os, "cannot wait for the stream: {}", errno_text(errno));
  }
  for (size_t i = 0; i < watched_.size(); ++i) watched_[i].ready = fds[i + 3].revents != 0;
  return Ready{.source = fds[0].revents != 0,
               .stop = fds[1].revents != 0,
               .no_reader = (fds[2].revents & POLLERR) != 0};
}

void StreamLoop::finish() {
  if (!std::exchange(finishing_, true)) source_.finish();
}

// False: end at once.
bool StreamLoop::apply(Next next) {
  if (next == Next::finish) finish();
  return next != Next::stop;
}

StreamLoop::Next StreamLoop::call_watchers() {
  Next next = Next::go_on;
  for (Watched& watched : watched_)
    if (std::exchange(watched.ready, false)) {
      if (watched.once) watched.fd = -1;
      next = std::max(next, watched.on_ready());
    }
  if (tick_ && Clock::now() >= next_tick_) {
    next = std::max(next, tick_());
    next_tick_ = Clock::now() + interval_;  // after the tick, which may take longer
  }
  return next;
}

Result<StreamLoop::End> StreamLoop::run(std::optional<Clock::duration> duration,
                                        const Callbacks& callbacks) {
  auto deadline = duration ? Clock::now() + *duration : Clock::time_point::max();
  if (tick_) next_tick_ = Clock::now() + interval_;
  for (;;) {
    auto ready = wait(finishing_ ? next_tick_ : std::min(deadline, next_tick_));
    if (!ready) return propagate(ready);
    if (ready->no_reader || !apply(call_watchers())) return End::stopped;
    if (ready->stop || Clock::now() >= deadline) finish();
    if (!ready->source) continue;
    auto more = source_.take(callbacks.on_packet);
    if (!more) return propagate(more);
    auto next = callbacks.after_packets();
    if (!next) return propagate(next);
    if (!apply(*next)) return End::stopped;
    if (!*more) return finishing_ ? End::finished : End::hung_up;
  }
}

}  // namespace ktraced
