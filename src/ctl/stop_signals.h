// SPDX-License-Identifier: BSD-2-Clause
// SIGINT, SIGTERM and SIGHUP as something to wait for.
#pragma once

#include <thread>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// While this lives, the first of these signals makes fd() readable, so that what is under way can
// be ended cleanly; one that comes a second or more later ends the process at once, even if it
// hangs in a write. A SIGHUP that is ignored stays so. Make it before other threads. One at a time.
class StopSignals {
 public:
  static Result<StopSignals> catch_signals();
  StopSignals(StopSignals&&) noexcept = default;
  StopSignals& operator=(StopSignals&&) = delete;
  ~StopSignals();

  // Stays readable from the first signal on.
  [[nodiscard]] int fd() const { return stopped_.get(); }

 private:
  StopSignals(Fd signals, Fd stopped, Fd quit);

  Fd stopped_;
  Fd quit_;  // ends the thread
  std::thread thread_;
};

}  // namespace ktraced
