// SPDX-License-Identifier: BSD-2-Clause
// Ctrl-C cancels a query instead of ending the program.
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <thread>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// While this exists, SIGINT calls a function, in a thread of its own. Create it before other
// threads.
class CancelOnSignal {
 public:
  // `cancel` must be callable until the end of this.
  static Result<std::unique_ptr<CancelOnSignal>> start(std::function<void()> cancel);
  CancelOnSignal(const CancelOnSignal&) = delete;
  CancelOnSignal& operator=(const CancelOnSignal&) = delete;
  ~CancelOnSignal();

 private:
  CancelOnSignal(Fd signals, Fd quit, std::function<void()> cancel);

  Fd signals_;
  Fd quit_;  // ends the thread
  std::function<void()> cancel_;
  sigset_t before_{};
  std::thread thread_;
};

}  // namespace ktraced
