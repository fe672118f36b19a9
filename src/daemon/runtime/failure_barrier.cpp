// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/runtime/failure_barrier.h"

#include <spdlog/spdlog.h>

namespace ktraced {
namespace {

constexpr std::chrono::seconds kLogInterval{1};

}  // namespace

void FailureBarrier::log_current() noexcept {
  try {
    const Error error = unexpected_error();
    const auto now = std::chrono::steady_clock::now();
    std::lock_guard lock(mutex_);
    if (now < next_line_) {
      ++unlogged_;
      return;
    }
    next_line_ = now + kLogInterval;
    const uint64_t unlogged = std::exchange(unlogged_, 0);
    spdlog::error("{}: {}{}", where_, error.message,
                  unlogged == 0 ? "" : fmt::format(" ({} more before)", unlogged));
  } catch (...) {  // no memory to build the line
    return;
  }
}

}  // namespace ktraced
