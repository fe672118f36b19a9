// SPDX-License-Identifier: BSD-2-Clause
#include "schema/string_arguments.h"

#include <gtest/gtest.h>

#include "schema/names.h"

namespace ktraced {
namespace {

constexpr uint32_t kNativeCalls = 0, kIa32Calls = 1, kX32Calls = 2;

TEST(StringArguments, AreThoseOfTheKernelsPrototypes) {
  EXPECT_EQ(string_arguments(kNativeCalls, "open"), 0b1);
  EXPECT_EQ(string_arguments(kNativeCalls, "openat"), 0b10);
  EXPECT_EQ(string_arguments(kNativeCalls, "renameat2"), 0b1010);
  EXPECT_EQ(string_arguments(kNativeCalls, "symlinkat"), 0b101);
  EXPECT_EQ(string_arguments(kNativeCalls, "mount"), 0b111);
  EXPECT_EQ(string_arguments(kNativeCalls, "connect"), STRING_ADDRESS);
  EXPECT_EQ(string_arguments(kNativeCalls, "read"), 0);
  EXPECT_EQ(string_arguments(kNativeCalls, ""), 0);
}

TEST(StringArguments, DependOnTheAbiWhereArgumentsTakeTwoRegisters) {
  EXPECT_EQ(string_arguments(kNativeCalls, "fanotify_mark"), 0b10000);
  EXPECT_EQ(string_arguments(kX32Calls, "fanotify_mark"), 0b10000);
  EXPECT_EQ(string_arguments(kIa32Calls, "fanotify_mark"), 0);
}

// A name with a mistake would never match.
TEST(StringArguments, NameCallsThatExist) {
  size_t known = 0;
  for (uint32_t abi : {kNativeCalls, kIa32Calls})
    for (int32_t nr = 0; nr < SYSCALL_MAX; ++nr)
      if (string_arguments(abi, syscall_name(abi, nr)) != 0) ++known;
  EXPECT_GT(known, 140U);
}

}  // namespace
}  // namespace ktraced
