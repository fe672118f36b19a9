// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/metrics/steady_counters.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

uint64_t filtered_after(SteadyCounters& steady, uint64_t filtered) {
  std::map<std::string, EventTotals> events;
  events["kfree"].recorder.counts.filtered = filtered;
  steady.apply(events);
  return events["kfree"].recorder.counts.filtered;
}

TEST(SteadyCounters, KeepAValueThatIsALittleLower) {
  SteadyCounters steady(4);
  EXPECT_EQ(filtered_after(steady, 10), 10U);
  EXPECT_EQ(filtered_after(steady, 6), 10U);
  EXPECT_EQ(filtered_after(steady, 12), 12U);
}

TEST(SteadyCounters, FollowAReset) {
  SteadyCounters steady(4);
  EXPECT_EQ(filtered_after(steady, 10), 10U);
  EXPECT_EQ(filtered_after(steady, 5), 5U);
  EXPECT_EQ(filtered_after(steady, 0), 0U);
}

}  // namespace
}  // namespace ktraced
