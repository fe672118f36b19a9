// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/stacks/sample_period.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ktraced {
namespace {

using testing::HasSubstr;

TEST(SamplePeriod, IsReadAsItIsWritten) {
  for (const char* text : {"100us", "250us", "10ms", "1500us", "1s", "10s", "2000000 cycles"}) {
    const auto period = parse_sample_period(text);
    ASSERT_TRUE(period) << text;
    EXPECT_EQ(text_of(*period), text);
  }
  EXPECT_EQ(parse_sample_period("1000us"), SamplePeriod{.number = 1'000'000});
  EXPECT_EQ(text_of({.number = 1'000'000}), "1ms");
  EXPECT_EQ(text_of({}), "10ms");
}

TEST(SamplePeriod, HasLimits) {
  const auto problem = [](const char* text) { return parse_sample_period(text).error().message; };
  EXPECT_THAT(problem("99us"), HasSubstr("from 100us to 10s"));
  EXPECT_THAT(problem("11s"), HasSubstr("from 100us to 10s"));
  EXPECT_THAT(problem("99999 cycles"), HasSubstr("from 100000 to 9999999999 cycles"));
  EXPECT_THAT(problem("10"), HasSubstr("such as 10ms"));
  EXPECT_THAT(problem("ms"), HasSubstr("such as 10ms"));
}

}  // namespace
}  // namespace ktraced
