// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/error_lines.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

TEST(ErrorLines, AreOneForEachProblemOfAConfiguration) {
  EXPECT_EQ(error_lines("ktraced", {ExitCode::config, "c.json:1: a: bad\nc.json:2: b: b\x1b."}),
            "ktraced: c.json:1: a: bad\nktraced: c.json:2: b: b\\x1b.\n");
}

TEST(ErrorLines, AreOneWhenALineEndIsOfForeignText) {
  EXPECT_EQ(error_lines("ktracectl", {ExitCode::data, "there is no trace directory a\nb"}),
            "ktracectl: there is no trace directory a\\x0ab\n");
}

}  // namespace
}  // namespace ktraced
