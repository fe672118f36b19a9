// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/text_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ktraced {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TextList, SplitsAtCommas) {
  EXPECT_THAT(split_list("a,b,c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(split_list(",a,,b,"), ElementsAre("a", "b"));
  EXPECT_THAT(split_list(""), IsEmpty());
  EXPECT_THAT(split_list(",,"), IsEmpty());
  EXPECT_THAT(list_entries(",a,,b"), ElementsAre("", "a", "", "b"));
}

TEST(TextList, KeepsCommasThatFollowABackslash) {
  EXPECT_THAT(split_list(R"(a\,b,c)"), ElementsAre("a,b", "c"));
  EXPECT_THAT(split_list(R"(\,)"), ElementsAre(","));
  EXPECT_THAT(split_list(R"(a\b,c\)"), ElementsAre(R"(a\b)", R"(c\)"));
  EXPECT_THAT(list_entries(R"(\,,)"), ElementsAre(",", ""));
  EXPECT_EQ(join_list({"a,b", "c"}), R"(a\,b,c)");
}

}  // namespace
}  // namespace ktraced
