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

TEST(BoottimeOffset, IsThatOfItsOwnNamespaceOrUnknown) {
  constexpr std::string_view kOffsets = "monotonic 0 0\nboottime 5 0\n";
  constexpr uint64_t kInitial = 0xeffffffa;
  const auto offset = [&](uint64_t own, uint64_t of_children) {
    return boottime_offset_in({.own = own, .of_children = of_children}, kOffsets);
  };
  EXPECT_EQ(offset(kInitial, 4026532178), 0) << "its children will be in another one";
  EXPECT_EQ(offset(4026532178, 4026532178), 5'000'000'000);
  EXPECT_EQ(offset(4026532178, 4026532179), std::nullopt) << "the offsets are of its children";
}

}  // namespace
}  // namespace ktraced
