// SPDX-License-Identifier: BSD-2-Clause
// Wall-clock times as text.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ktraced {

// Writes "2026-11-21T14:03:21.123456789Z", which SQLite's date functions read.
class WallClock {
 public:
  // `ns` since 1970, UTC. Valid until the next call.
  std::string_view of(int64_t ns);

 private:
  void write(size_t at, size_t digits, int64_t number);

  int64_t second_ = -1;  // that text_ shows
  std::array<char, 30> text_{'0', '0', '0', '0', '-', '0', '0', '-', '0', '0',
                             'T', '0', '0', ':', '0', '0', ':', '0', '0', '.',
                             '0', '0', '0', '0', '0', '0', '0', '0', '0', 'Z'};
};

}  // namespace ktraced
