// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/table.h"

#include <gtest/gtest.h>

namespace ktraced::test {
namespace {

TEST(Table, IsAsWideAsItsCharactersAreAndNotTheirBytes) {
  Table table({{"NAME"}, {"COUNT", true}, {"WHAT"}});
  table.add({{"\xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2"}, {"7", true}, {"wide"}});
  table.add({{"\xc3\xa9t\xc3\xa9"}, {"1,234", true}, {""}});
  EXPECT_EQ(table.text(1),
            " NAME    COUNT  WHAT\n"
            " \xe6\xbc\xa2\xe5\xad\x97\xe6\xbc\xa2      7  wide\n"
            " \xc3\xa9t\xc3\xa9     1,234\n");
}

TEST(Table, ShortensTextsThatDoNotFit) {
  EXPECT_EQ(shortened_to("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened_to("abcdef", 5), "ab...");
  EXPECT_EQ(shortened_to("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 4),
            "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9");
  EXPECT_EQ(shortened_to("\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", 5), "\xe6\xbc\xa2...");
}

TEST(Table, ShortensTextsInTheMiddle) {
  EXPECT_EQ(shortened_within("abcdefgh", 8), "abcdefgh");
  EXPECT_EQ(shortened_within("abcdefgh", 7), "ab...gh");
  EXPECT_EQ(shortened_within("abcdefgh", 6), "ab...h");
  EXPECT_EQ(shortened_within("abcdefgh", 3), "...");
  EXPECT_EQ(shortened_within("\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", 7),
            "\xe6\xbc\xa2...\xe6\xbc\xa2");
  EXPECT_EQ(shortened_within("\xe6\xbc\xa2\xe6\xbc\xa2\xe6\xbc\xa2", 5), "...")
      << "half of a character does not fit";
}

TEST(Table, FitsIntoColumnsIfItsLastCellCan) {
  Table table({{"COUNT", true}, {"WHAT"}});
  table.add({{"7", true}, {"    " + std::string(30, 'x') + "::end"}});
  EXPECT_EQ(table.text(0, 36),
            "COUNT  WHAT\n"
            "    7      xxxxxxxxxxx...xxxxxx::end\n");
  EXPECT_EQ(table.text(0, 4),
            "COUNT  WHAT\n"
            "    7      xxxxxxx...x::end\n")
      << "20 columns at least";
  EXPECT_EQ(table.text(), table.text(0, 80));
}

}  // namespace
}  // namespace ktraced::test
