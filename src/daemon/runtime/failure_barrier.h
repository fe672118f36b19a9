// SPDX-License-Identifier: BSD-2-Clause
// Catches unexpected exceptions: they end one piece of work, not the daemon.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <type_traits>
#include <utility>

#include "base/error.h"
#include "base/limits.h"

namespace ktraced {

// Runs work, and catches and logs its exceptions. Work that fails repeatedly logs one line a second
// at most. Thread-safe.
class FailureBarrier {
 public:
  // `where`: the name of the place in the log, "the event loop". Must outlive this.
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

// Calls `undo` in its destructor, also when an exception unwinds the stack, unless dismiss() was
// called. Logs what `undo` throws.
template <class Undo>
class Rollback {
 public:
  explicit Rollback(Undo undo) : undo_(std::move(undo)) {}
  Rollback(const Rollback&) = delete;
  Rollback& operator=(const Rollback&) = delete;
  ~Rollback() {
    if (!dismissed_) FailureBarrier("a rollback").run(undo_);
  }

  void dismiss() { dismissed_ = true; }

 private:
  Undo undo_;
  bool dismissed_ = false;
};

// Returns the Result of `call`, or the exception that it throws as an error.
template <class Call>
[[nodiscard]] std::invoke_result_t<Call> as_result(Call&& call) {
  try {
    return std::forward<Call>(call)();
  } catch (...) {
    return std::unexpected(unexpected_error());
  }
}

}  // namespace ktraced
