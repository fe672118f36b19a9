// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/namespaces.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

TEST(BoottimeOffset, IsThatOfTheLineOfItsClock) {
  EXPECT_EQ(boottime_offset_in("monotonic           0         0\n"
                               "boottime         1000         5\n"),
            1'000'000'000'005);
  EXPECT_EQ(boottime_offset_in("monotonic          -7         9\n"
                               "boottime           -2 500000000\n"),
            -1'500'000'000);
  EXPECT_EQ(boottime_offset_in("monotonic        1000         0\n"
                               "boottime            0         0\n"),
            0);
}

TEST(BoottimeOffset, IsNoneWhereTheKernelHasNoTimeNamespaces) {
  EXPECT_EQ(boottime_offset_in(""), 0);
  EXPECT_EQ(boottime_offset_in("monotonic 5 0\n"), 0);
  EXPECT_EQ(boottime_offset_in("boottime"), 0);
  EXPECT_EQ(boottime_offset_in("boottime x y\n"), 0);
}

}  // namespace
}  // namespace ktraced
