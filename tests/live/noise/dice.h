// SPDX-License-Identifier: BSD-2-Clause
// Random details that can be repeated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>

namespace noise {

// Equal seeds give equal numbers.
class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}

  // From 0 to `end` - 1.
  uint64_t below(uint64_t end) { return engine_() % end; }
  // From `first` to `last`.
  uint64_t between(uint64_t first, uint64_t last) { return first + below(last - first + 1); }
  bool coin() { return below(2) == 1; }
  template <class T, size_t count>
  const T& pick(const std::array<T, count>& values) {
    return values[below(count)];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace noise
