#include "ctl/stream_loop.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace ktraced {

std::optional<StreamLoop::Clock::duration> StreamLoop::duration_of(std::optional<double> seconds) {
  if (!seconds) return std::nullopt;
  constexpr double kLongest = 100.0 * 365 * 86400;  // beyond, the clock would overflow
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(*seconds, kLongest)));
}

Result<StreamLoop::Ready> StreamLoop::wait(std::optional<Clock::time_point> deadline) const {
  // Once it is finishing, the stop descriptor stays readable and says nothing new.
  std::array<pollfd, 3> fds{
      {{source_.fd(), POLLIN, 0}, {finishing_ ? -1 : stop_fd_, POLLIN, 0}, {output_, 0, 0}}};
  int timeout = -1;
  if (deadline && !finishing_) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - Clock::now()).count();
    timeout = static_cast<int>(std::clamp<int64_t>(left, 0, 3600'000));
  }
  if (::poll(fds.data(), fds.size(), timeout) < 0 && errno != EINTR)
    return fail(ExitCode::os, "cannot wait for the stream: {}", errno_text(errno));
  return Ready{.source = fds[0].revents != 0,
               .stop = fds[1].revents != 0,
               .no_reader = (fds[2].revents & POLLERR) != 0};
}

void StreamLoop::finish() {
  if (!finishing_) source_.finish();
  finishing_ = true;
}

Result<StreamLoop::End> StreamLoop::run(std::optional<Clock::duration> duration,
                                        const Callbacks& callbacks) {
  std::optional<Clock::time_point> deadline;
  if (duration) deadline = Clock::now() + *duration;
  for (;;) {
    auto ready = wait(deadline);
    if (!ready) return pass_on(ready);
    if (ready->no_reader) return End::stopped;
    if (ready->stop || (deadline && Clock::now() >= *deadline)) finish();
    if (!ready->source) continue;
    auto more = source_.take(callbacks.on_packet);
    if (!more) return pass_on(more);
    auto next = callbacks.after_packets();
    if (!next) return pass_on(next);
    if (*next == Next::stop) return End::stopped;
    if (*next == Next::finish) finish();
    if (!*more) return finishing_ ? End::finished : End::hung_up;
  }
}

}  // namespace ktraced
