// SPDX-License-Identifier: BSD-2-Clause
// Makes SIGINT, SIGTERM and SIGHUP readable from a file descriptor.
#pragma once

#include <thread>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// While this exists, the first of these signals makes fd() readable, so that the command can end
// cleanly. Another signal, a second or more later, ends the process at once, even if it hangs in a
// write. If SIGHUP is ignored, it stays ignored. Create it before other threads. Only one at a
// time.
class StopSignals {
 public:
  static Result<StopSignals> catch_signals();
  StopSignals(StopSignals&&) noexcept = default;
  StopSignals& operator=(StopSignals&&) = delete;
  ~StopSignals();

  // Stays readable from the first signal on.
  [[nodiscard]] int fd() const { return stopped_.get(); }
  // Has there been a signal?
  [[nodiscard]] bool stopped() const;

 private:
  StopSignals(Fd signals, Fd stopped, Fd quit);

  Fd stopped_;
  Fd quit_;  // ends the thread
  std::thread thread_;
};

}  // namespace ktraced
