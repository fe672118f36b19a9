// What the calls of a ground-truth program are compared with.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace ktraced::live {

// first, first + 1 … last; nothing if last is first - 1.
[[nodiscard]] inline std::vector<uint64_t> from_to(uint64_t first, uint64_t last) {
  std::vector<uint64_t> numbers(last - first + 1);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

}  // namespace ktraced::live
