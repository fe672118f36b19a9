// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/calls/call_programs.h"

#include <gtest/gtest.h>

#include <memory>

namespace ktraced {
namespace {

TEST(StringCalls, AreSetByTheNumbersOfEachAbi) {
  const auto control = std::make_unique<struct control>();
  set_string_arguments(*control);
  constexpr uint32_t kNativeCalls = 0, kIa32Calls = 1, kX32Calls = 2;
  constexpr int kOpenNative = 2, kOpenIa32 = 5, kReadNative = 0, kSocketcallIa32 = 102;
  EXPECT_EQ(control->string_args[kNativeCalls][kOpenNative], 0b1);
  EXPECT_EQ(control->string_args[kIa32Calls][kOpenIa32], 0b1);
  EXPECT_EQ(control->string_args[kX32Calls][kOpenNative], 0b1);
  EXPECT_EQ(control->string_args[kNativeCalls][kReadNative], 0);
  EXPECT_EQ(control->string_args[kIa32Calls][kSocketcallIa32], 0) << "they are in memory";
}

}  // namespace
}  // namespace ktraced
