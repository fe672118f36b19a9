// SPDX-License-Identifier: BSD-2-Clause
#include "trace/packet/word_text.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

TEST(WordText, QuotesWordsAsAShellReadsThem) {
  EXPECT_EQ(quoted_words("make -j4 CC=gcc"), "make -j4 CC=gcc");
  EXPECT_EQ(quoted_words("sh -c a\x1f"
                         "b"),
            "sh -c 'a b'");
  EXPECT_EQ(quoted_words("echo  x "), "echo '' x ''") << "empty ones";
  EXPECT_EQ(quoted_words("it's"), "'it'\\''s'");
  EXPECT_EQ(quoted_words("\"a\" a\\n a\nb"), "'\"a\"' 'a\\n' 'a\nb'");
  EXPECT_EQ(quoted_words("ls * a|b $HOME #x ~ {a,b} `id`"),
            "ls '*' 'a|b' '$HOME' '#x' '~' '{a,b}' '`id`'");
  EXPECT_EQ(quoted_words("/a/b_c.d @x:y 50% a+b,c caf\xc3\xa9"),
            "/a/b_c.d @x:y 50% a+b,c caf\xc3\xa9");
  EXPECT_EQ(quoted_words(""), "");
}

}  // namespace
}  // namespace ktraced
