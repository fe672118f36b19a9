// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/timeline_slices.h"

#include <gtest/gtest.h>

namespace ktraced::test {
namespace {

// The sum over a lane, or over all lanes.
struct Sums {
  uint64_t count = 0, busy_ns = 0;
  bool operator==(const Sums&) const = default;
};
Sums sums_of(const TimelineSlices& slices) {
  Sums sums;
  for (const auto& lane : slices.lanes())
    for (const TimelineSlice& slice : lane) {
      sums.count += slice.count;
      sums.busy_ns += slice.busy_ns;
    }
  return sums;
}

TEST(TimelineSlices, KeepsAFewUnchanged) {
  TimelineSlices slices(10);
  for (uint64_t i = 0; i < 10; ++i) slices.add(0, 100 * i, 100 * i + 50, static_cast<uint32_t>(i));
  EXPECT_EQ(slices.grain_ns(), 0U);
  ASSERT_EQ(slices.lanes()[0].size(), 10U);
  EXPECT_EQ(slices.lanes()[0][3].begin_ns, 300U);
  EXPECT_EQ(slices.lanes()[0][3].end_ns, 350U);
  EXPECT_EQ(slices.lanes()[0][3].what, 3U);
  EXPECT_EQ(slices.lanes()[0][3].count, 1U);
}

TEST(TimelineSlices, JoinsShortOnesAndKeepsTheirSums) {
  constexpr size_t kLimit = 1000;
  TimelineSlices slices(kLimit);
  uint64_t ts = 5'000'000'000, busy = 0;
  constexpr uint64_t kMany = 300'000;
  for (uint64_t i = 0; i < kMany; ++i) {
    const uint64_t ns = 10 + i * 7919 % 90'000;
    slices.add(static_cast<uint32_t>(i % 3), ts, ts + ns, static_cast<uint32_t>(i % 5));
    busy += ns;
    if (i % 3 == 2) ts += 100'000;
    ASSERT_LE(slices.size(), kLimit);
  }
  EXPECT_EQ(slices.added(), kMany);
  EXPECT_EQ(sums_of(slices), (Sums{kMany, busy}));
  EXPECT_GE(slices.grain_ns(), 90'000U);
  size_t size = 0;
  for (const auto& lane : slices.lanes()) {
    size += lane.size();
    for (size_t i = 0; i < lane.size(); ++i) {
      EXPECT_LE(lane[i].busy_ns, lane[i].end_ns - lane[i].begin_ns);
      EXPECT_LE(lane[i].what_ns, lane[i].busy_ns);
      if (i == 0) continue;
      ASSERT_GE(lane[i].begin_ns, lane[i - 1].end_ns) << "one after the other";
    }
  }
  EXPECT_EQ(size, slices.size());
}

TEST(TimelineSlices, KeepsLongOnesApart) {
  TimelineSlices slices(100);
  for (uint64_t i = 0; i < 1000; ++i) slices.add(0, 1000 * i, 1000 * i + 10, 1);
  constexpr uint64_t kLong = 50'000'000;
  slices.add(0, 2'000'000, 2'000'000 + kLong, 7);
  for (uint64_t i = 0; i < 1000; ++i)
    slices.add(0, 60'000'000 + 1000 * i, 60'000'010 + 1000 * i, 1);
  size_t found = 0;
  for (const TimelineSlice& slice : slices.lanes()[0])
    if (slice.what == 7 && slice.count == 1 && slice.end_ns - slice.begin_ns == kLong) ++found;
  EXPECT_EQ(found, 1U);
}

TEST(TimelineSlices, TakesTheNameWithTheMostTime) {
  TimelineSlices slices(2);
  for (uint64_t i = 0; i < 4; ++i) {
    slices.add(0, 1'000'000 + 100 * i, 1'000'010 + 100 * i, 1);
    slices.add(0, 1'000'020 + 100 * i, 1'000'090 + 100 * i, 2);
  }
  const TimelineSlice& joined = slices.lanes()[0][0];
  EXPECT_EQ(joined.what, 2U);
  EXPECT_GT(joined.what_ns, joined.busy_ns / 2);
  EXPECT_EQ(joined.begin_ns, 1'000'000U);
}

TEST(TimelineSlices, HasAtLeastOneForEachLane) {
  TimelineSlices slices(4);
  for (uint32_t lane = 0; lane < 10; ++lane) slices.add(lane, 100, 200, 0);
  EXPECT_EQ(slices.size(), 10U);
  EXPECT_EQ(sums_of(slices), (Sums{10, 1000}));
}

}  // namespace
}  // namespace ktraced::test
