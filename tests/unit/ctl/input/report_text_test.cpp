// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/report_text.h"

#include <gtest/gtest.h>

namespace ktraced::test {
namespace {

TEST(CountedText, HasTheSingularOfOne) {
  EXPECT_EQ(counted_text(1, "calls were lost"), "1 call was lost");
  EXPECT_EQ(counted_text(1, "paths have no call"), "1 path has no call");
  EXPECT_EQ(counted_text(1, "calls had not returned"), "1 call had not returned");
  EXPECT_EQ(counted_text(1, "waits are not counted"), "1 wait is not counted");
  EXPECT_EQ(counted_text(1, "events"), "1 event");
  EXPECT_EQ(counted_text(1234, "calls were lost"), "1,234 calls were lost");
}

}  // namespace
}  // namespace ktraced::test
