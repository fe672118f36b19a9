// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/missed_hits.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

TEST(MissedHits, SpanFromTheLastReadingBeforeToTheFirstAfter) {
  MissedHits missed;
  missed.note({100, 101, {{"a", 5}, {"b", 1}}}, 100);
  missed.note({200, 201, {{"a", 6}, {"b", 1}}}, 100);
  missed.note({300, 301, {{"a", 9}, {"b", 1}, {"c", 2}}}, 100);
  EXPECT_EQ(missed.within(101, 200), (HitCounts{{"a", 1}}));
  EXPECT_EQ(missed.within(101, 201), (HitCounts{{"a", 4}, {"c", 2}}))
      << "they may have been missed at 201";
  EXPECT_EQ(missed.within(200, 250), (HitCounts{{"a", 4}, {"c", 2}}))
      << "they may have been missed at 200";
  EXPECT_EQ(missed.within(201, 300), (HitCounts{{"a", 3}, {"c", 2}}));
  EXPECT_EQ(missed.within(301, 400), HitCounts{});
}

TEST(MissedHits, NearAnEdgeCountForAdjacentSpansOnly) {
  MissedHits missed;
  for (uint64_t ts = 100; ts <= 600; ts += 100)
    missed.note({ts, ts, {{"a", ts >= 400 ? 1U : 0U}}}, 0);
  EXPECT_EQ(missed.within(150, 250), HitCounts{});
  EXPECT_EQ(missed.within(251, 350), (HitCounts{{"a", 1}}));
  EXPECT_EQ(missed.within(351, 450), (HitCounts{{"a", 1}}));
  EXPECT_EQ(missed.within(451, 550), HitCounts{});
}

TEST(MissedHits, ReportWhetherTheyWereReadSince) {
  MissedHits missed;
  EXPECT_FALSE(missed.read_since(0));
  missed.note({100, 110, {{"a", 1}}}, 0);
  EXPECT_TRUE(missed.read_since(100));
  EXPECT_FALSE(missed.read_since(105)) << "it may have been read at 100";
}

TEST(MissedHits, DropReadingsThatNoSpanNeeds) {
  MissedHits missed;
  for (uint64_t ts = 1; ts <= 10; ++ts) missed.note({ts, ts, {{"a", ts}}}, ts - 1);
  EXPECT_EQ(missed.within(9, 10), (HitCounts{{"a", 1}}));
  EXPECT_EQ(missed.within(1, 10), (HitCounts{{"a", 1}})) << "readings of older spans are evicted";
}

TEST(MissedHits, AreZeroWithoutReadings) { EXPECT_EQ(MissedHits().within(5, 6), HitCounts{}); }

}  // namespace
}  // namespace ktraced
