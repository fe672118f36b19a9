// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/run_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int32_t kTask = 3352, kOtherTask = 812;

class RunTimelineTest : public DecoderTest {
 protected:
  RunTimelineTest() { tracker_.add_source(schema_, names_); }
  void change(uint64_t ts, uint32_t cpu, int32_t from, int32_t to) {
    const Bytes record = make_record(EVENT_sched_switch, ts, static_cast<uint32_t>(from),
                                     rec_sched_switch{.prev_pid = from, .next_pid = to});
    tracker_.on_record({.source = 0, .cpu = cpu}, RecordView(record.data()));
  }
  void lose(uint64_t ts, uint32_t cpu, uint64_t count, uint16_t event = EVENT_sched_switch) {
    tracker_.on_loss({.ts = ts, .cpu = cpu, .event_id = event, .count = count});
  }
  // "begin-end name", of one CPU.
  std::vector<std::string> ran(uint32_t cpu) {
    std::vector<std::string> texts;
    for (const TimelineSlice& slice : lane(timeline_.ran(), cpu))
      texts.push_back(fmt::format("{}-{} {}", slice.begin_ns, slice.end_ns,
                                  timeline_.tasks().list()[slice.what].comm));
    return texts;
  }
  std::vector<std::string> unknown(uint32_t cpu) {
    std::vector<std::string> texts;
    for (const TimelineSlice& slice : lane(timeline_.unknown(), cpu))
      texts.push_back(fmt::format("{}-{}", slice.begin_ns, slice.end_ns));
    return texts;
  }
  static std::vector<TimelineSlice> lane(const TimelineSlices& slices, uint32_t cpu) {
    return cpu < slices.lanes().size() ? slices.lanes()[cpu] : std::vector<TimelineSlice>();
  }

  RunTracker tracker_;
  RunTimeline timeline_{tracker_};
};

TEST_F(RunTimelineTest, ShowsWhatEachCpuRan) {
  change(100, 0, 0, kTask);
  change(120, 1, 0, kOtherTask);
  change(150, 0, kTask, kOtherTask);
  change(180, 0, kOtherTask, 0);  // idle
  change(280, 0, 0, kTask);
  tracker_.finish(300);
  EXPECT_THAT(ran(0), ElementsAre("100-150 bash", "150-180 nginx", "280-300 bash"));
  EXPECT_THAT(ran(1), ElementsAre("120-300 nginx"));
  EXPECT_THAT(unknown(0), ElementsAre("0-100")) << "before the first switch";
}

TEST_F(RunTimelineTest, DoesNotKnowWhatRanAfterALoss) {
  change(100, 0, 0, kTask);
  lose(130, 0, 7);
  lose(140, 0, 7);
  change(200, 0, kTask, kOtherTask);
  change(250, 0, kOtherTask, 0);
  tracker_.finish(300);
  EXPECT_THAT(ran(0), ElementsAre("100-130 bash", "200-250 nginx"));
  EXPECT_THAT(unknown(0), ElementsAre("0-100", "130-200"));
}

TEST_F(RunTimelineTest, IgnoresLossesOfOtherEvents) {
  change(100, 0, 0, kTask);
  lose(130, 0, 7, EVENT_kmalloc);
  lose(130, 1, 7);
  change(200, 0, kTask, 0);
  tracker_.finish(300);
  EXPECT_THAT(ran(0), ElementsAre("100-200 bash"));
}

TEST_F(RunTimelineTest, DrawsNothingAcrossTheBeginningOfAnotherHistory) {
  change(100, 0, 0, kTask);
  lose(500, 0, 0);  // the first record of another trace, long after the end of this one
  change(510, 0, kTask, 0);
  tracker_.finish(600);
  EXPECT_THAT(ran(0), IsEmpty());
  EXPECT_THAT(unknown(0), ElementsAre("0-100", "100-510"));
}

TEST_F(RunTimelineTest, ShowsFilteredTimeAsUnknown) {
  change(100, 0, kTask, kOtherTask);
  change(200, 0, 77, kTask);  // a switch in between is missing
  change(230, 0, kTask, kOtherTask);
  tracker_.finish(240);
  EXPECT_THAT(ran(0), ElementsAre("200-230 bash", "230-240 nginx"));
  EXPECT_THAT(unknown(0), ElementsAre("0-100", "100-200"));
}

TEST_F(RunTimelineTest, DoesNotKnowWhenFilteredThreadsRan) {
  tracker_.on_config_change(0,
                            TraceConfig::of(nlohmann::json::parse(R"({"filter":{"pid":[3350]}})")));
  change(100, 0, kOtherTask, kTask);
  change(150, 0, kTask, kOtherTask);
  change(200, 0, kOtherTask, kTask);  // it may have slept in between
  change(230, 0, kTask, 0);
  tracker_.finish(300);
  EXPECT_THAT(ran(0), ElementsAre("100-150 bash", "200-230 bash"));
  EXPECT_THAT(unknown(0), ElementsAre("0-100", "150-200", "230-300"));
}

TEST_F(RunTimelineTest, ShowsPausedTimeAsUnknown) {
  auto state = [](const char* text) {
    return TraceConfig::of({{"state", text}, {"events", {"sched_switch"}}});
  };
  tracker_.on_config_change(0, state("running"));
  change(100, 0, 0, kTask);
  tracker_.on_config_change(150, state("paused"));
  tracker_.on_config_change(900, state("running"));
  change(950, 0, kTask, kOtherTask);
  tracker_.finish(1000);
  EXPECT_THAT(ran(0), ElementsAre("100-150 bash", "950-1000 nginx"));
  EXPECT_THAT(unknown(0), ElementsAre("0-100", "150-950"));
}

TEST_F(RunTimelineTest, RenamedThreadIsAnotherTask) {
  learn(task_name(3352, 150, 3350, "make"));
  change(100, 0, 0, kTask);
  change(110, 0, kTask, 0);
  change(200, 0, 0, kTask);
  change(220, 0, kTask, 0);
  change(300, 0, 0, kTask);
  tracker_.finish(400);
  EXPECT_THAT(ran(0), ElementsAre("100-110 bash", "200-220 make", "300-400 make"));
  EXPECT_EQ(timeline_.tasks().list().size(), 2U);
  EXPECT_EQ(timeline_.tasks().list()[1].tid, 3352U);
  EXPECT_EQ(timeline_.tasks().list()[1].pid, 3350U);
}

TEST_F(RunTimelineTest, StaysSmall) {
  RunTracker tracker;
  RunTimeline small(tracker, 500);
  tracker.add_source(schema_, names_);
  for (uint64_t i = 0; i < 100'000; ++i) {
    const auto from = static_cast<int32_t>(i % 2 == 0 ? 0 : kTask);
    const Bytes record = make_record(EVENT_sched_switch, 1'000'000 + 500 * i, 0,
                                     rec_sched_switch{.prev_pid = from, .next_pid = kTask - from});
    tracker.on_record({.source = 0, .cpu = 0}, RecordView(record.data()));
  }
  EXPECT_LE(small.ran().size(), 500U);
  EXPECT_EQ(small.ran().added(), 50'000U);
}

TEST(TimelineTasks, AreCountedTogetherBeyondTheLimit) {
  TimelineTasks tasks(2);
  const NameTable names;
  EXPECT_EQ(tasks.number_of(1, 0, names), 0U);
  EXPECT_EQ(tasks.number_of(2, 0, names), 1U);
  EXPECT_EQ(tasks.number_of(3, 0, names), 2U);
  EXPECT_EQ(tasks.number_of(4, 0, names), 2U);
  EXPECT_EQ(tasks.number_of(1, 0, names), 0U);
  EXPECT_TRUE(tasks.list().back().others);
}

}  // namespace
}  // namespace ktraced::test
