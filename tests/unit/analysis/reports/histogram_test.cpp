// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/histogram.h"

#include <gtest/gtest.h>

#include <random>

namespace ktraced::test {
namespace {

TEST(Histogram, IsZeroWhenEmpty) {
  const Histogram none;
  EXPECT_EQ(none.count(), 0U);
  EXPECT_EQ(none.percentile(99), 0U);
  EXPECT_TRUE(none.by_power_of_two().empty());
}

TEST(Histogram, IsExactForSmallValues) {
  Histogram histogram;
  for (uint64_t value = 1; value <= 10; ++value) histogram.add(value);
  EXPECT_EQ(histogram.percentile(50), 5U);
  EXPECT_EQ(histogram.percentile(90), 9U);
  EXPECT_EQ(histogram.percentile(91), 10U);
  EXPECT_EQ(histogram.percentile(0), 1U);
  EXPECT_EQ(histogram.percentile(100), 10U);
  EXPECT_EQ(histogram.sum(), 55U);
}

TEST(Histogram, OverestimatesByAtMostASixteenth) {
  std::mt19937_64 random(1);
  std::vector<uint64_t> values;
  Histogram histogram;
  for (int i = 0; i < 5000; ++i) values.push_back(random() >> (random() % 64));
  for (const uint64_t value : values) histogram.add(value);
  std::ranges::sort(values);
  for (size_t percent = 1; percent <= 100; ++percent) {
    const uint64_t exact = values[values.size() * percent / 100 - 1];
    const uint64_t said = histogram.percentile(static_cast<double>(percent));
    EXPECT_GE(said, exact);
    EXPECT_LE(said - exact, exact / 16);
  }
  EXPECT_EQ(histogram.max(), values.back());
  EXPECT_EQ(histogram.percentile(100), values.back());
}

TEST(Histogram, AcceptsTheLargestValue) {
  Histogram histogram;
  histogram.add(UINT64_MAX);
  EXPECT_EQ(histogram.percentile(50), UINT64_MAX);
  EXPECT_EQ(histogram.by_power_of_two().size(), 64U);
}

TEST(Histogram, CountsByPowersOfTwo) {
  Histogram histogram;
  for (uint64_t value : {0, 1, 2, 3, 4, 1000, 1023, 1024}) histogram.add(value);
  const std::vector<uint64_t> expected{2, 2, 1, 0, 0, 0, 0, 0, 0, 2, 1};
  EXPECT_EQ(histogram.by_power_of_two(), expected);
}

}  // namespace
}  // namespace ktraced::test
