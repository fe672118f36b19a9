// SPDX-License-Identifier: BSD-2-Clause
// Reads a live stream until `--count`, `--duration` or a signal ends it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ctl/live/read_ahead.h"

namespace ktraced {

// Runs the callbacks for the packets of a ReadAhead. To end, it notifies the daemon and reads the
// rest of the stream, so that the output has everything up to then.
class StreamLoop {
 public:
  using Clock = std::chrono::steady_clock;

  // The next step, as returned by callbacks.
  enum class Next {
    go_on,
    finish,  // end cleanly
    stop,    // end at once
  };

  struct Callbacks {
    PacketVisitor on_packet;
    std::function<Result<Next>()> after_packets;  // called after the available packets
  };

  enum class End {
    finished,  // as requested
    stopped,   // by a callback, or `output` has no reader
    hung_up,   // by the daemon or its death, without a request
  };

  // Fails with ExitCode::unavailable if the stream has ended without a request. `reason`: of the
  // daemon; empty: it gave none, as it does whenever it can.
  static Result<> verdict_of(End end, const std::string& reason);

  // `stop_fd`: readable when the loop is to end. `output`: the loop ends when its reader goes away.
  StreamLoop(ReadAhead& source, int stop_fd, int output)
      : source_(source), stop_fd_(stop_fd), output_(output) {}

  // Calls `on_ready` once, as soon as `fd` is readable.
  void watch(int fd, std::function<Next()> on_ready) {
    watched_.push_back({.fd = fd, .on_ready = std::move(on_ready)});
  }
  // Calls `on_ready`, which must read from `fd`, each time that `fd` is readable.
  void watch_always(int fd, std::function<Next()> on_ready) {
    watched_.push_back({.fd = fd, .on_ready = std::move(on_ready), .once = false});
  }
  // Calls `tick` about once per `interval`.
  void every(Clock::duration interval, std::function<Next()> tick) {
    interval_ = interval;
    tick_ = std::move(tick);
  }

  // The value of --duration; nothing if not given.
  static std::optional<Clock::duration> duration_of(std::optional<double> seconds);

  Result<End> run(std::optional<Clock::duration> duration, const Callbacks& callbacks);

 private:
  struct Ready {
    bool source = false, stop = false, no_reader = false;
  };
  struct Watched {
    int fd;
    std::function<Next()> on_ready;
    bool once = true;
    bool ready = false;
  };
  Result<Ready> wait(Clock::time_point until);
  Next call_watchers();
  bool apply(Next next);
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
