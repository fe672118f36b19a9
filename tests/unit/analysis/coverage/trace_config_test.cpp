// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/coverage/trace_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/intervals/evict.h"
#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

using nlohmann::json;

constexpr auto kYes = std::optional(true), kNo = std::optional(false);

// Thread 3352 of process 3350 is bash, of user 0; 812 is nginx.
class RecordedFilterTest : public DecoderTest {
 protected:
  std::optional<bool> matches(const char* filter, uint32_t tid) {
    return RecordedFilter::of(json::parse(filter)).matches(tid, names_.task_at(tid, kTs));
  }
};

TEST_F(RecordedFilterTest, IsAppliedAsFarAsTheTraceAllows) {
  EXPECT_FALSE(RecordedFilter::of({}).any());
  EXPECT_EQ(matches("{}", 812), kYes);
  EXPECT_EQ(matches(R"({"pid":[3350]})", 3352), kYes) << "by process";
  EXPECT_EQ(matches(R"({"pid":[3352]})", 3352), kYes) << "by thread";
  EXPECT_EQ(matches(R"({"pid":[3350]})", 812), kNo);
  EXPECT_EQ(matches(R"({"pid":[3350]})", 0), kNo) << "the idle tasks";
  EXPECT_EQ(matches(R"({"pid":[3350]})", 9999), std::nullopt) << "of an unknown process";
  EXPECT_EQ(matches(R"({"pid":[9999]})", 9999), kYes);
  EXPECT_EQ(matches(R"({"uid":[7]})", 812), kNo);
  EXPECT_EQ(matches(R"({"comm":["ngin*"]})", 812), kYes);
  EXPECT_EQ(matches(R"({"comm":["ngin"]})", 812), kNo);
  EXPECT_EQ(matches(R"({"comm":["nginx"],"pid":[3350]})", 812), kNo) << "both must match";
  EXPECT_EQ(matches(R"({"follow":[812]})", 812), kYes);
  EXPECT_EQ(matches(R"({"follow":[812]})", 3352), std::nullopt) << "may be a child";
  EXPECT_EQ(matches(R"({"cgroup":["/a"]})", 812), std::nullopt);
  EXPECT_EQ(matches(R"({"cgroup":["/a"],"pid":[1]})", 812), kNo);
  EXPECT_EQ(matches(R"({"exclude":{"comm":["nginx"]}})", 812), kNo);
  EXPECT_EQ(matches(R"({"exclude":{"comm":["nginx"]}})", 3352), kYes);
  EXPECT_EQ(matches(R"({"exclude":{"comm":["nginx"]}})", 9999), std::nullopt);
}

TEST(TraceConfig, IsReadFromManifestsAndFromStatus) {
  const TraceConfig manifest = TraceConfig::of(json::parse(
      R"({"state":"paused","events":["kmalloc"],"syscalls_only":["read"],"filter":{"pid":[1]}})"));
  EXPECT_FALSE(manifest.running);
  EXPECT_FALSE(manifest.has("kmalloc")) << "while it is paused";
  EXPECT_TRUE(manifest.filter.any());
  EXPECT_EQ(manifest.syscalls.size(), 1U);
  const TraceConfig status = TraceConfig::of(
      json::parse(R"({"events":{"kmalloc":{"enabled":true},"kfree":{"enabled":false}}})"));
  EXPECT_TRUE(status.has("kmalloc"));
  EXPECT_FALSE(status.has("kfree"));
  EXPECT_TRUE(TraceConfig::of({}).has("kfree")) << "nothing is known";
}

TEST(TraceConfig, DiffersOnlyForReportsThatUseTheChange) {
  const TraceConfig before = TraceConfig::of(json::parse(R"({"events":["kmalloc"]})"));
  const TraceConfig after = TraceConfig::of(json::parse(R"({"events":["kmalloc","kfree"]})"));
  constexpr std::string_view kOne[] = {"kmalloc"}, kBoth[] = {"kmalloc", "kfree"};
  EXPECT_TRUE(before.same_for(after, kOne));
  EXPECT_FALSE(before.same_for(after, kBoth));
  EXPECT_FALSE(before.same_for(TraceConfig::of(json::parse(R"({"state":"paused"})")), kOne));
}

TEST(EvictOlderHalf, RemovesTheOldestEntries) {
  std::unordered_map<int, uint64_t> times;
  for (int i = 0; i < 11; ++i) times[i] = static_cast<uint64_t>(i);
  EXPECT_EQ(evict_older_half(times, [](uint64_t time) { return time; }), 6U);
  EXPECT_EQ(times.size(), 5U);
  EXPECT_FALSE(times.contains(5));
  EXPECT_TRUE(times.contains(6));
}

}  // namespace
}  // namespace ktraced::test
