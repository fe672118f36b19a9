// SPDX-License-Identifier: BSD-2-Clause
// Reports when the wall clock is set.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/error.h"
#include "base/fd.h"
#include "daemon/runtime/event_loop.h"

namespace ktraced {

// Watches for steps of the wall clock. Belongs to the loop's thread.
class ClockWatch {
 public:
  // Called with the time by which the clock was set forward (or back, if negative), ns.
  using OnStep = std::function<void(int64_t step_ns)>;
  // `bell` becomes readable when the clock may have been set; `offset` is
  // clock_offset_ns() of base/clock.h.
  struct Source {
    Fd bell;
    std::function<int64_t()> offset;
  };

  // Calls `on_step` after each step. Fails with ExitCode::os.
  static Result<ClockWatch> start(EventLoop& loop, OnStep on_step);
  // Calls `on_step` after each step that `source` shows. Fails with ExitCode::os.
  static Result<ClockWatch> start(EventLoop& loop, Source source, OnStep on_step);

 private:
  struct State;
  std::shared_ptr<State> state_;  // used by the callback of `source_`
  EventSource source_;
};

}  // namespace ktraced
