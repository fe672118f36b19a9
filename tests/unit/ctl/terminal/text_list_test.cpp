// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/text_list.h"

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
}

}  // namespace
}  // namespace ktraced
