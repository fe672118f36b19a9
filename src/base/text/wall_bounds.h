// SPDX-License-Identifier: BSD-2-Clause
// Times that a condition on wall-clock texts leaves.
#pragma once

#include <cstdint>
#include <string_view>

namespace ktraced {

// How a text compares with times as texts, "2026-11-21T14:03:21.123456789Z": ns, CLOCK_REALTIME.
struct WallBounds {
  uint64_t least_ns = 0;          // texts of earlier times are less than the text
  uint64_t most_ns = UINT64_MAX;  // texts of later times are greater
};

// The bounds of any text; of one that begins as a time does, what it begins with counts.
[[nodiscard]] WallBounds wall_bounds(std::string_view text);

}  // namespace ktraced
