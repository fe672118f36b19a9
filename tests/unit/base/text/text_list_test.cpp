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

TEST(TextList, ReadsTwoBackslashesBeforeACommaAsOne) {
  EXPECT_THAT(split_list(R"(a\\,b)"), ElementsAre(R"(a\)", "b"));
  EXPECT_THAT(split_list(R"(a\\\,b)"), ElementsAre(R"(a\,b)"));
  EXPECT_THAT(split_list(R"(a\\b\\)"), ElementsAre(R"(a\\b\\)")) << "before no comma";
}

TEST(TextList, JoinsWhatItSplits) {
  using Entries = std::vector<std::string>;
  for (const Entries& entries :
       {Entries{"a"}, Entries{R"(a\)", "b"}, Entries{R"(a\)", R"(b\\)"}, Entries{R"(a\,)", R"(\)"},
        Entries{R"(a\\,b)", R"(,\)", "c"}, Entries{R"(a\b)", R"(\\\)"}, Entries{"", "a", "", ""},
        Entries{R"(\)", "", R"(\)"}})
    EXPECT_EQ(list_entries(join_list(entries)), entries) << join_list(entries);
}

}  // namespace
}  // namespace ktraced
