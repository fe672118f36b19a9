// SPDX-License-Identifier: BSD-2-Clause
// Reads a live stream until somebody has had enough.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "base/error.h"
#include "ctl/read_ahead.h"

namespace ktraced {

// Shows what a ReadAhead brings. When it is to end, the daemon is told and what it still
// sends is taken, so that what was shown is all that happened until then.
class StreamLoop {
 public:
  using Clock = std::chrono::steady_clock;

  // What a callback wants next.
  enum class Next {
    go_on,
    finish,  // end cleanly
    stop,    // end at once
  };

  struct Callbacks {
    PacketVisitor on_packet;
    std::function<Result<Next>()> after_packets;  // after those that were there
  };

  enum class End {
    finished,  // as asked for
    stopped,   // by a callback, or nobody reads `output` any more
    hung_up,   // by the daemon, unasked
  };

  // Fails with ExitCode::unavailable if the daemon has ended it.
  static Result<> verdict_of(End end);

  // `stop_fd`: readable when it is to end. `output`: a descriptor whose reader
  // going away ends the loop.
  StreamLoop(ReadAhead& source, int stop_fd, int output)
      : source_(source), stop_fd_(stop_fd), output_(output) {}

  // Calls `on_ready` once, as soon as `fd` is readable.
  void watch(int fd, std::function<Next()> on_ready) {
    watched_.push_back({.fd = fd, .on_ready = std::move(on_ready)});
  }
  // Calls `tick` about that often.
  void every(Clock::duration interval, std::function<Next()> tick) {
    interval_ = interval;
    tick_ = std::move(tick);
  }

  // What --duration asks for; nothing if it was not given.
  static std::optional<Clock::duration> duration_of(std::optional<double> seconds);

  Result<End> run(std::optional<Clock::duration> duration, const Callbacks& callbacks);

 private:
  struct Ready {
    bool source = false, stop = false, no_reader = false;
  };
  struct Watched {
    int fd;
    std::function<Next()> on_ready;
    bool ready = false;
  };
  Result<Ready> wait(Clock::time_point until);
  Next call_watchers();
  bool obey(Next next);
  void finish();

  ReadAhead& source_;
  int stop_fd_;
  int output_;
  std::vector<Watched> watched_;
  Clock::duration interval_ = Clock::duration::max();
  std::function<Next()> tick_;
  Clock::time_point next_tick_ = Clock::time_point::max();
  bool finishing_ = false;
};

}  // namespace ktraced
