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

// CLOCK_REALTIME minus CLOCK_BOOTTIME, ns: changes when the wall clock is set or adjusted.
[[nodiscard]] inline int64_t clock_offset_ns() {
  return static_cast<int64_t>(clock_ns(CLOCK_REALTIME)) - static_cast<int64_t>(boottime_ns());
}

}  // namespace ktraced
