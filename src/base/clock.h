// SPDX-License-Identifier: BSD-2-Clause
// The clock of all timestamps.
#pragma once

#include <time.h>

#include <cstdint>

namespace ktraced {

// Nanoseconds of a clock of clock_gettime(2).
[[nodiscard]] inline uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

// Nanoseconds since boot, suspended time included: the clock of struct record.
[[nodiscard]] inline uint64_t boottime_ns() { return clock_ns(CLOCK_BOOTTIME); }

}  // namespace ktraced
