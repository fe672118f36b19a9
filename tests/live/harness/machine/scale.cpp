// SPDX-License-Identifier: BSD-2-Clause
#include "harness/machine/scale.h"

#include <algorithm>
#include <cstdlib>

namespace ktraced::live {

long scaled(long count) {
  const char* divisor = std::getenv("KTRACED_TEST_SCALE");
  return count / std::max(1L, divisor == nullptr ? 1L : std::atol(divisor));
}

}  // namespace ktraced::live
