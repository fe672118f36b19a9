// SPDX-License-Identifier: BSD-2-Clause
// The calls that the ground truth numbers: getpriority(0, n), n counting up from 1.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>
#include <vector>

namespace ktraced::live {

// "events" of a configuration that records only these calls.
[[nodiscard]] inline nlohmann::json numbered_calls() {
  return {{"syscalls", {{"only", {"getpriority"}}}}};
}

// first, first + 1 … last; nothing if last is first - 1.
[[nodiscard]] inline std::vector<uint64_t> from_to(uint64_t first, uint64_t last) {
  std::vector<uint64_t> numbers(last - first + 1);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

}  // namespace ktraced::live
