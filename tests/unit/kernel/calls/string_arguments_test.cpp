// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/calls/string_arguments.h"

#include <gtest/gtest.h>

#include <memory>

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

TEST(StringArguments, AreSetByTheNumbersOfEachAbi) {
  const auto control = std::make_unique<struct control>();
  set_string_arguments(*control);
  constexpr int kOpenNative = 2, kOpenIa32 = 5, kReadNative = 0, kSocketcallIa32 = 102;
  EXPECT_EQ(control->string_args[kNativeCalls][kOpenNative], 0b1);
  EXPECT_EQ(control->string_args[kIa32Calls][kOpenIa32], 0b1);
  EXPECT_EQ(control->string_args[kX32Calls][kOpenNative], 0b1);
  EXPECT_EQ(control->string_args[kNativeCalls][kReadNative], 0);
  EXPECT_EQ(control->string_args[kIa32Calls][kSocketcallIa32], 0) << "they are in memory";
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
