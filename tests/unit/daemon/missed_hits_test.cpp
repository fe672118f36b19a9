#include "daemon/missed_hits.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

TEST(MissedHits, AreThoseSinceTheLastReadingBeforeASpan) {
  MissedHits missed;
  missed.note(100, {{"a", 5}, {"b", 1}}, 100);
  missed.note(200, {{"a", 6}, {"b", 1}}, 100);
  missed.note(300, {{"a", 9}, {"b", 1}, {"c", 2}}, 100);
  EXPECT_EQ(missed.since(100), (HitCounts{{"a", 4}, {"c", 2}}));
  EXPECT_EQ(missed.since(199), (HitCounts{{"a", 4}, {"c", 2}})) << "it may have been before 199";
  EXPECT_EQ(missed.since(200), (HitCounts{{"a", 3}, {"c", 2}}));
  EXPECT_EQ(missed.since(300), HitCounts{});
}

TEST(MissedHits, ForgetWhatNoSpanNeeds) {
  MissedHits missed;
  for (uint64_t ts = 1; ts <= 10; ++ts) missed.note(ts, {{"a", ts}}, ts - 1);
  EXPECT_EQ(missed.since(9), (HitCounts{{"a", 1}}));
  EXPECT_EQ(missed.since(1), (HitCounts{{"a", 1}})) << "nobody may ask any more";
}

TEST(MissedHits, OfNothingReadAreNone) { EXPECT_EQ(MissedHits().since(5), HitCounts{}); }

}  // namespace
}  // namespace ktraced
