// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/bars.h"

#include <gtest/gtest.h>

namespace ktraced::test {
namespace {

Bars sample() {
  Bars bars;
  bars.add("< 1 us", 0);
  bars.add("< 10 us", 1000);
  bars.add("< 100 us", 0);
  bars.add("< 1 ms", 500);
  bars.add("< 10 ms", 1);
  bars.add("< 100 ms", 0);
  return bars;
}

TEST(Bars, ArePlainWithoutATerminal) {
  EXPECT_EQ(sample().text(false),
            "   < 10 us  1,000  ########################################\n"
            "  < 100 us      0\n"
            "    < 1 ms    500  ####################\n"
            "   < 10 ms      1  #\n");
}

TEST(Bars, HaveEighthsOfAColumnOnATerminal) {
  Bars bars;
  bars.add("a", 320);
  bars.add("b", 9);
  bars.add("c", 1);
  const std::string text = bars.text(true);
  EXPECT_NE(text.find("  b    9  █▏\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  c    1  ▏\n"), std::string::npos) << text;
}

TEST(Bars, AreEmptyForZero) {
  Bars bars;
  bars.add("a", 0);
  EXPECT_TRUE(bars.empty());
  EXPECT_EQ(bars.text(false), "");
  EXPECT_FALSE(sample().empty());
}

}  // namespace
}  // namespace ktraced::test
