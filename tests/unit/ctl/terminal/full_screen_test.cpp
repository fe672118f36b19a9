// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/full_screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ktraced {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(FullScreen, DrawsLinesOverThePreviousOnes) {
  EXPECT_EQ(screen_text("one\ntwo\n\n", 5, 10), "\x1b[Hone\x1b[K\r\ntwo\x1b[K\x1b[J");
  EXPECT_EQ(screen_text("", 5, 10), "\x1b[H\x1b[J");
}

TEST(FullScreen, CountsTheLinesThatDoNotFit) {
  EXPECT_EQ(screen_text("1\n2\n3\n4\n", 3, 20),
            "\x1b[H1\x1b[K\r\n2\x1b[K\r\n... 2 more lines\x1b[K\x1b[J");
  EXPECT_EQ(screen_text("1\n2\n3\n", 3, 20), "\x1b[H1\x1b[K\r\n2\x1b[K\r\n3\x1b[K\x1b[J");
  EXPECT_EQ(screen_text("1\n2\n", 1, 20), "\x1b[H... 2 more lines\x1b[K\x1b[J");
  EXPECT_EQ(screen_text("1\n2\n", 0, 6), "\x1b[H... 2 \x1b[K\x1b[J");
}

TEST(FullScreen, CutsLinesBetweenCharacters) {
  EXPECT_THAT(screen_text("abcdef\n", 5, 4), HasSubstr("\x1b[Habcd\x1b[K"));
  EXPECT_THAT(screen_text("\xc3\xa9\xc3\xa9\xc3\xa9\n", 5, 2),
              HasSubstr("\x1b[H\xc3\xa9\xc3\xa9\x1b[K"));
  EXPECT_THAT(screen_text("\x1b[1mabc\x1b[0mdef\n", 5, 4),
              HasSubstr("\x1b[H\x1b[1mabc\x1b[0md\x1b[0m\x1b[K"))
      << "colours have no width, and end with the line";
  EXPECT_THAT(screen_text("\x1b[1mabc", 5, 2), Not(HasSubstr("c")));
  EXPECT_THAT(screen_text("ab\x1b[", 5, 2), HasSubstr("ab"));
}

}  // namespace
}  // namespace ktraced
