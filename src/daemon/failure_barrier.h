// SPDX-License-Identifier: BSD-2-Clause
// Where an unexpected exception ends: it fails one piece of work, not the daemon.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace ktraced {

// The exception that is being handled, as an error of ExitCode::software ("internal error: …"), or
// of ExitCode::os for missing memory. To be called in a catch block only.
[[nodiscard]] Error unexpected_error();

// Carries out work whose exceptions must not get further, and logs them: a line a second at most,
// for work that fails again and again. Thread-safe.
class FailureBarrier {
 public:
  // `where`: what the log calls the place, "the event loop". Must outlive this.
  explicit FailureBarrier(const char* where) : where_(where) {}

  // False if `work` has thrown.
  template <class Work>
  bool run(Work&& work) noexcept {
    try {
      std::forward<Work>(work)();
      return true;
    } catch (...) {
      log_current();
      return false;
    }
  }

 private:
  void log_current() noexcept;

  const char* where_;
  std::mutex mutex_;
  std::chrono::steady_clock::time_point next_line_;  // guarded by mutex_
  uint64_t unlogged_ = 0;                            // guarded by mutex_
};

// What `call` returns, a Result; or the exception it throws, as its error.
template <class Call>
[[nodiscard]] std::invoke_result_t<Call> as_result(Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (...) {
    return std::unexpected(unexpected_error());
  }
}

}  // namespace ktraced
