// SPDX-License-Identifier: BSD-2-Clause
// A part of a history.
#pragma once

#include <cstdint>

namespace ktraced {

// From `begin_ns` to `end_ns`, both included; ns, CLOCK_BOOTTIME.
struct TimeWindow {
  uint64_t begin_ns = 0;
  uint64_t end_ns = UINT64_MAX;

  [[nodiscard]] bool contains(uint64_t ts) const { return ts >= begin_ns && ts <= end_ns; }
  [[nodiscard]] bool is_all() const { return begin_ns == 0 && end_ns == UINT64_MAX; }
};

}  // namespace ktraced
