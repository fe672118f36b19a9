// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/call_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/intervals/loss_timeline.h"
#include "analysis/reports/fan_out.h"
#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint32_t kCaller = 3352, kOtherCaller = 812;

class CallTimelineTest : public DecoderTest {
 protected:
  CallTimelineTest() { all_.add_source(schema_, names_); }
  void enter(uint64_t ts, uint32_t tid, int32_t nr, uint32_t cpu = 0) {
    take(cpu, make_record(EVENT_sys_enter, ts, tid, rec_sys_enter{.nr = nr}));
  }
  void leave(uint64_t ts, uint32_t tid, int32_t nr, uint32_t cpu = 0) {
    take(cpu, make_record(EVENT_sys_exit, ts, tid, rec_sys_exit{.nr = nr}));
  }
  void take(uint32_t cpu, const Bytes& record) {
    all_.on_record({.source = 0, .cpu = cpu}, RecordView(record.data()));
  }
  void lose(uint64_t ts, uint32_t cpu, uint64_t count, uint16_t event = EVENT_sys_enter) {
    all_.on_loss({.ts = ts, .cpu = cpu, .event_id = event, .count = count});
  }
  // "name tid: begin-end number"
  static std::vector<std::string> drawn(const CallTimeline& timeline) {
    std::vector<std::string> texts;
    for (size_t lane = 0; lane < timeline.slices().lanes().size(); ++lane)
      for (const TimelineSlice& slice : timeline.slices().lanes()[lane])
        texts.push_back(fmt::format("{} {}: {}-{} {}", timeline.threads()[lane].comm,
                                    timeline.threads()[lane].tid, slice.begin_ns, slice.end_ns,
                                    timeline.calls()[slice.what].nr));
    return texts;
  }
  std::vector<std::string> losses() {
    std::vector<std::string> texts;
    for (size_t cpu = 0; cpu < losses_.slices().lanes().size(); ++cpu)
      for (const TimelineSlice& slice : losses_.slices().lanes()[cpu])
        texts.push_back(fmt::format("{}: {}-{} {}, {} {}", cpu, slice.begin_ns, slice.end_ns,
                                    slice.count, slice.what_ns, losses_.events()[slice.what]));
    return texts;
  }

  CallTracker tracker_;
  CallTimeline timeline_{tracker_};
  LossTimeline losses_;
  FanOut all_{{&tracker_, &losses_}};
};

TEST_F(CallTimelineTest, HasALaneForEachThread) {
  enter(100, kCaller, 257);
  enter(110, kOtherCaller, 0, 1);
  leave(120, kCaller, 257);
  leave(130, kOtherCaller, 0, 1);
  enter(140, kCaller, 3);
  leave(150, kCaller, 3, 1);  // after a move to another CPU
  tracker_.finish(200);
  EXPECT_THAT(drawn(timeline_), ElementsAre("bash 3352: 100-120 257", "bash 3352: 140-150 3",
                                            "nginx 812: 110-130 0"));
  EXPECT_EQ(timeline_.uncertain(), 0U);
}

TEST_F(CallTimelineTest, ExtendsUnreturnedCallsToTheEnd) {
  enter(100, kCaller, 0);
  tracker_.finish(900);
  EXPECT_THAT(drawn(timeline_), ElementsAre("bash 3352: 100-900 0"));
}

TEST_F(CallTimelineTest, EndsTheLastCallOfAThreadWithTheThread) {
  constexpr int32_t kExitGroup = 231, kFutex = 202;
  enter(100, kCaller, kExitGroup);
  enter(100, kOtherCaller, kFutex);
  take(0, make_record(EVENT_sched_process_exit, 150, kCaller, rec_sched_process_exit{.pid = 3352}));
  take(0, make_record(EVENT_sched_process_exit, 160, kOtherCaller,
                      rec_sched_process_exit{.pid = 812}));
  enter(200, 4000, kExitGroup);
  tracker_.finish(900);
  EXPECT_THAT(drawn(timeline_), ElementsAre("bash 3352: 100-150 231", "nginx 812: 100-160 202"))
      << "of the third thread it is not known when it ended";
}

TEST_F(CallTimelineTest, ExecveByAThreadReturnsUnderTheLeadersId) {
  constexpr int32_t kExecve = 59;
  enter(100, kOtherCaller, kExecve);
  take(0, make_record(EVENT_sched_process_exec, 200, kCaller,
                      rec_sched_process_exec{.pid = kCaller, .old_pid = kOtherCaller}));
  leave(300, kCaller, kExecve);
  tracker_.finish(1000);
  EXPECT_THAT(drawn(timeline_), ElementsAre("bash 3352: 100-300 59"));
}

TEST_F(CallTimelineTest, DrawsNothingAcrossALoss) {
  enter(100, kCaller, 0);
  lose(110, 1, 3);
  leave(120, kCaller, 0);
  enter(130, kOtherCaller, 0);
  leave(140, kOtherCaller, 0);
  enter(150, kCaller, 0, 1);  // the loss is over
  leave(160, kCaller, 0);
  tracker_.finish(900);
  EXPECT_THAT(drawn(timeline_), ElementsAre("bash 3352: 150-160 0"));
  EXPECT_EQ(timeline_.uncertain(), 2U);
}

TEST_F(CallTimelineTest, DrawsNothingAcrossAPause) {
  auto state = [](const char* text) { return TraceConfig::of({{"state", text}}); };
  all_.on_config_change(0, state("running"));
  enter(100, kCaller, 0);
  all_.on_config_change(150, state("paused"));
  all_.on_config_change(900, state("running"));
  leave(950, kCaller, 0);
  tracker_.finish(1000);
  EXPECT_THAT(drawn(timeline_), IsEmpty());
  EXPECT_EQ(timeline_.uncertain(), 1U);
}

TEST_F(CallTimelineTest, IgnoresTheReturnOfANewThreadFromItsCreation) {
  constexpr int32_t kFork = 57;
  enter(100, kCaller, kFork);
  leave(110, kOtherCaller, kFork);
  take(0, make_record(EVENT_sys_exit, 120, kCaller, rec_sys_exit{.nr = kFork, .ret = 812}));
  tracker_.finish(900);
  EXPECT_THAT(drawn(timeline_), ElementsAre("bash 3352: 100-120 57"));
  EXPECT_EQ(timeline_.uncertain(), 0U);
}

TEST_F(CallTimelineTest, DrawsNoCallWithoutItsEnter) {
  leave(100, kCaller, 0);
  enter(110, kCaller, 1);
  leave(120, kCaller, 2);  // of another call
  tracker_.finish(900);
  EXPECT_THAT(drawn(timeline_), IsEmpty());
  EXPECT_EQ(timeline_.uncertain(), 2U);
}

TEST_F(CallTimelineTest, CountsCallsOfThreadsBeyondTheLimit) {
  CallTracker tracker;
  CallTimeline small(tracker, 100, 1);
  tracker.add_source(schema_, names_);
  for (const uint32_t tid : {kCaller, kOtherCaller}) {
    const Bytes begin = make_record(EVENT_sys_enter, 100, tid, rec_sys_enter{.nr = 1});
    const Bytes end = make_record(EVENT_sys_exit, 200, tid, rec_sys_exit{.nr = 1});
    tracker.on_record({}, RecordView(begin.data()));
    tracker.on_record({}, RecordView(end.data()));
  }
  EXPECT_EQ(small.threads().size(), 1U);
  EXPECT_EQ(small.other_calls(), 1U);
}

TEST_F(CallTimelineTest, MarksLossesUntilTheNextEventOfTheirCpu) {
  lose(100, 1, 5);
  lose(100, 1, 70, EVENT_kmalloc);
  enter(150, kCaller, 0, 0);
  enter(300, kOtherCaller, 0, 1);
  enter(310, kOtherCaller, 0, 1);
  lose(400, 0, 1);
  losses_.finish(450);
  EXPECT_THAT(losses(), ElementsAre("0: 400-450 1, 1 sys_enter", "1: 100-300 75, 70 kmalloc"));
}

TEST_F(CallTimelineTest, MarksNoLossWhereAHistoryBegins) {
  lose(100, 1, 0);
  enter(300, kOtherCaller, 0, 1);
  losses_.finish(450);
  EXPECT_THAT(losses(), IsEmpty());
}

}  // namespace
}  // namespace ktraced::test
