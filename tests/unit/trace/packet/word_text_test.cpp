// SPDX-License-Identifier: BSD-2-Clause
#include "trace/packet/word_text.h"

#include <gtest/gtest.h>

#include "base/text/plain_text.h"

namespace ktraced {
namespace {

TEST(WordText, QuotesWordsAsAShellReadsThem) {
  EXPECT_EQ(quoted_words("make -j4 CC=gcc"), "make -j4 CC=gcc");
  EXPECT_EQ(quoted_words("sh -c a\x1f"
                         "b"),
            "sh -c 'a b'");
  EXPECT_EQ(quoted_words("echo  x "), "echo '' x ''") << "empty ones";
  EXPECT_EQ(quoted_words("it's"), "'it'\\''s'");
  EXPECT_EQ(quoted_words("\"a\" a\\n a\nb"), "'\"a\"' 'a\\n' $'a\\nb'");
  EXPECT_EQ(quoted_words("ls * a|b $HOME #x ~ {a,b} `id`"),
            "ls '*' 'a|b' '$HOME' '#x' '~' '{a,b}' '`id`'");
  EXPECT_EQ(quoted_words("/a/b_c.d @x:y 50% a+b,c caf\xc3\xa9"),
            "/a/b_c.d @x:y 50% a+b,c caf\xc3\xa9");
  EXPECT_EQ(quoted_words(""), "");
  EXPECT_EQ(quoted_word("a b"), "'a b'") << "a blank is in the word";
  EXPECT_EQ(quoted_word(""), "''");
}

TEST(WordText, NamesTheCommandThatShowsTraces) {
  EXPECT_EQ(show_command({"/s/first one", "/s/b"}), "ktracectl show '/s/first one' /s/b");
}

TEST(WordText, CanBeCopiedFromATerminal) {
  const std::string hostile =
      "sh -c it's\x1f\\\tx\n\x1b[0m 7\xff"
      "7 \xe2\x80\xae";
  const std::string words = quoted_words(hostile);
  EXPECT_EQ(words, R"(sh -c $'it\'s \\\tx\n\033[0m' $'7\3777' $'\342\200\256')");
  EXPECT_EQ(printable(words), words);
}

}  // namespace
}  // namespace ktraced
