// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/coverage/identities.h"

#include <gtest/gtest.h>

namespace ktraced::test {
namespace {

TEST(Identities, NumbersEachIdAndStartTimeInOrderOfAppearance) {
  Identities identities(8);
  EXPECT_EQ(identities.number_of(7, 100), 0U);
  EXPECT_EQ(identities.number_of(7, 200), 1U);
  for (uint64_t other = 1; other <= 4; ++other)
    EXPECT_EQ(identities.number_of(7 + other * 256, 100), 1U + other);
  EXPECT_EQ(identities.number_of(7, 100), 0U);
  EXPECT_EQ(identities.number_of(7, 200), 1U);
  EXPECT_EQ(identities.number_of(7 + 512, 100), 3U);
}

TEST(Identities, TakesTheLatestWhenTheStartTimeIsUnknown) {
  Identities identities(8);
  EXPECT_EQ(identities.number_of(7, 0), 0U);
  EXPECT_EQ(identities.number_of(7, 100), 0U);
  EXPECT_EQ(identities.number_of(7, 200), 1U);
  EXPECT_EQ(identities.number_of(7, 100), 0U);
  EXPECT_EQ(identities.number_of(7, 0), 1U);
}

TEST(Identities, StopsAtTheLimit) {
  Identities identities(1);
  EXPECT_EQ(identities.number_of(7, 100), 0U);
  EXPECT_EQ(identities.number_of(8, 100), std::nullopt);
  EXPECT_EQ(identities.number_of(8, 100), std::nullopt);
  EXPECT_EQ(identities.number_of(8, 0), std::nullopt);
  EXPECT_EQ(identities.number_of(7, 100), 0U);
}

}  // namespace
}  // namespace ktraced::test
