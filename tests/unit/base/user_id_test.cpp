// SPDX-License-Identifier: BSD-2-Clause
#include "base/user_id.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

TEST(User, IsANumberOrAName) {
  EXPECT_EQ(parse_user("0").value(), 0U);
  EXPECT_EQ(parse_user("4294967294").value(), 4294967294U);
  EXPECT_EQ(parse_user("root").value(), 0U);
}

TEST(User, IsRefusedWhenUnknown) {
  for (const char* text : {"", "no-such-user", "-1", "4294967296", "1x"}) {
    const auto user = parse_user(text);
    ASSERT_FALSE(user) << text;
    EXPECT_EQ(user.error().code, ExitCode::usage);
  }
}

}  // namespace
}  // namespace ktraced
