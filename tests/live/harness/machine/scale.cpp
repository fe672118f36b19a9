// SPDX-License-Identifier: BSD-2-Clause
#include "harness/machine/scale.h"

#include <algorithm>
#include <cstdlib>

namespace ktraced::live {

long scaled(long count) {
  const char* divisor = std::getenv("KTRACED_TEST_SCALE");
  return count / std::max(1L, divisor == nullptr ? 1L : std::atol(divisor));
}

long usual_or_whole(long usual, long whole) {
  return std::getenv("KTRACED_TEST_WHOLE") == nullptr ? usual : whole;
}

}  // namespace ktraced::live
