// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/report_frames.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>

#include "unit/support/never.h"

namespace ktraced {
namespace {

using test::kNever;

TEST(TextOfChild, LeavesTheMemoryOfThisProcessAsItIs) {
  int finished = 0;
  const auto text =
      text_of_child([&finished] { return "finished " + std::to_string(++finished); }, kNever);
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "finished 1");
  EXPECT_EQ(finished, 0);
}

TEST(TextOfChild, MayBeLongerThanAPipe) {
  const auto text = text_of_child([] { return std::string(1U << 20, 'x'); }, kNever);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->size(), 1U << 20);
}

TEST(TextOfChild, FailsIfTheChildFails) {
  EXPECT_FALSE(
      text_of_child([]() -> std::string { throw std::runtime_error("no report"); }, kNever));
}

TEST(TextOfChild, FailsIfTheChildHangs) {
  const auto hanging = []() -> std::string {
    for (;;) ::pause();
  };
  EXPECT_FALSE(text_of_child(hanging, std::chrono::milliseconds(50)));
}

}  // namespace
}  // namespace ktraced
