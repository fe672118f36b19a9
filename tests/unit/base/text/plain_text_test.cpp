// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/plain_text.h"

#include <gtest/gtest.h>

#include <array>
#include <utility>

namespace ktraced {
namespace {

// Characters that control a terminal, end a line or change the direction of writing, and how text
// and JSON show them.
struct Hidden {
  const char* bytes;
  const char* text;
  const char* in_json;
};
constexpr std::array<Hidden, 12> kHidden{{{"\x7f", "\\x7f", "\\u007f"},
                                          {"\u0080", "\\xc2\\x80", "\\u0080"},
                                          {"\u009b", "\\xc2\\x9b", "\\u009b"},
                                          {"\u009f", "\\xc2\\x9f", "\\u009f"},
                                          {"\u061c", "\\xd8\\x9c", "\\u061c"},
                                          {"\u200e", "\\xe2\\x80\\x8e", "\\u200e"},
                                          {"\u200f", "\\xe2\\x80\\x8f", "\\u200f"},
                                          {"\u2028", "\\xe2\\x80\\xa8", "\\u2028"},
                                          {"\u2029", "\\xe2\\x80\\xa9", "\\u2029"},
                                          {"\u202e", "\\xe2\\x80\\xae", "\\u202e"},
                                          {"\u2066", "\\xe2\\x81\\xa6", "\\u2066"},
                                          {"\u2069", "\\xe2\\x81\\xa9", "\\u2069"}}};
// Neighbouring code points, and other text.
constexpr const char* kShown =
    "~\u00a0\u00e9\u061b\u061d\u200d\u2010\u2027\u202f\u2065\u206a\U0001f525";

TEST(PlainText, EscapesTerminalControlCharacters) {
  for (const Hidden& hidden : kHidden) {
    EXPECT_EQ(printable(std::string("a") + hidden.bytes + "b"),
              std::string("a") + hidden.text + "b");
    EXPECT_FALSE(unfit_for_a_line(hidden.bytes).empty()) << hidden.text;
  }
  EXPECT_EQ(printable("\x1b[2J\n\t"), "\\x1b[2J\\x0a\\x09");
  EXPECT_EQ(printable(std::string("\0", 1)), "\\x00");
  EXPECT_EQ(printable(kShown), kShown);
  EXPECT_EQ(unfit_for_a_line(kShown), "");
}

TEST(PlainText, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("a\xff\xc3"), "a\\xff\\xc3");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "\\x9b"
            "2J");
}

TEST(PlainText, KeepsLineEndsAndTabsOfSeveralLines) {
  EXPECT_EQ(printable_lines("a\x1b\n\tb\u202e\n"), "a\\x1b\n\tb\\xe2\\x80\\xae\n");
  EXPECT_EQ(printable_lines(""), "");
}

TEST(PlainText, EscapesJsonWithoutChangingTheDocument) {
  for (const Hidden& hidden : kHidden)
    EXPECT_EQ(printable_json(std::string("{\n \"a\": \"") + hidden.bytes + "\"\n}"),
              std::string("{\n \"a\": \"") + hidden.in_json + "\"\n}");
  const std::string shown = std::string("[\"") + kShown + "\"]\n";
  EXPECT_EQ(printable_json(shown), shown);
}

}  // namespace
}  // namespace ktraced
