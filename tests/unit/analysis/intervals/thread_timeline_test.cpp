// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/thread_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "analysis/intervals/loss_timeline.h"
#include "analysis/reports/fan_out.h"
#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint32_t kCaller = 3352, kOtherCaller = 812;
constexpr uint32_t kCouldGoOn = 0, kFallsAsleep = 1, kHasEnded = 0x10;

class ThreadTimelineTest : public DecoderTest {
 protected:
  ThreadTimelineTest() { all_.add_source(schema_, names_); }
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
  static std::vector<std::string> drawn(const ThreadTimeline& timeline) {
    std::vector<std::string> texts;
    for (size_t lane = 0; lane < timeline.calls().lanes().size(); ++lane)
      for (const TimelineSlice& slice : timeline.calls().lanes()[lane]) {
        const TimelineTask& task = timeline.threads()[lane].task;
        texts.push_back(fmt::format("{} {}: {}-{} {}", task.comm, task.tid, slice.begin_ns,
                                    slice.end_ns, timeline.kinds()[slice.what].nr));
      }
    return texts;
  }
  void change(uint64_t ts, uint32_t from, uint32_t state, uint32_t to, uint32_t cpu = 0) {
    take(cpu, make_record(EVENT_sched_switch, ts, from,
                          rec_sched_switch{.prev_pid = static_cast<s32>(from),
                                           .prev_state = state,
                                           .next_pid = static_cast<s32>(to)}));
  }
  void wake(uint64_t ts, uint32_t tid, uint32_t cpu = 0, uint16_t event = EVENT_sched_wakeup) {
    take(cpu, make_record(event, ts, 0, rec_sched_wakeup{.pid = static_cast<s32>(tid)}));
  }
  void finish(uint64_t end_ns) {
    runs_.finish(end_ns);
    tracker_.finish(end_ns);
    timeline_.finish(end_ns);
  }
  // "begin-end state", of one thread.
  std::vector<std::string> states(uint32_t tid) {
    constexpr const char* kNames[] = {"runs", "can run", "sleeps"};
    std::vector<std::string> texts;
    for (size_t lane = 0; lane < timeline_.states().lanes().size(); ++lane) {
      if (timeline_.threads()[lane].task.tid != tid) continue;
      for (const TimelineSlice& slice : timeline_.states().lanes()[lane])
        texts.push_back(fmt::format("{}-{} {}", slice.begin_ns, slice.end_ns, kNames[slice.what]));
    }
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
  RunTracker runs_;
  ThreadTimeline timeline_{tracker_, runs_};
  LossTimeline losses_;
  FanOut all_{{&timeline_, &tracker_, &runs_, &losses_}};
};

TEST_F(ThreadTimelineTest, HasALaneForEachThread) {
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

TEST_F(ThreadTimelineTest, ExtendsUnreturnedCallsToTheEnd) {
  enter(100, kCaller, 0);
  tracker_.finish(900);
  EXPECT_THAT(drawn(timeline_), ElementsAre("bash 3352: 100-900 0"));
}

TEST_F(ThreadTimelineTest, EndsTheLastCallOfAThreadWithTheThread) {
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

TEST_F(ThreadTimelineTest, ExecveByAThreadReturnsUnderTheLeadersId) {
  constexpr int32_t kExecve = 59;
  enter(100, kOtherCaller, kExecve);
  take(0, make_record(EVENT_sched_process_exec, 200, kCaller,
                      rec_sched_process_exec{.pid = kCaller, .old_pid = kOtherCaller}));
  leave(300, kCaller, kExecve);
  tracker_.finish(1000);
  EXPECT_THAT(drawn(timeline_), ElementsAre("bash 3352: 100-300 59"));
}

TEST_F(ThreadTimelineTest, DrawsNothingAcrossALoss) {
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

TEST_F(ThreadTimelineTest, DrawsNothingAcrossAPause) {
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

TEST_F(ThreadTimelineTest, IgnoresTheReturnOfANewThreadFromItsCreation) {
  constexpr int32_t kFork = 57;
  enter(100, kCaller, kFork);
  leave(110, kOtherCaller, kFork);
  take(0, make_record(EVENT_sys_exit, 120, kCaller, rec_sys_exit{.nr = kFork, .ret = 812}));
  tracker_.finish(900);
  EXPECT_THAT(drawn(timeline_), ElementsAre("bash 3352: 100-120 57"));
  EXPECT_EQ(timeline_.uncertain(), 0U);
}

TEST_F(ThreadTimelineTest, DrawsNoCallWithoutItsEnter) {
  leave(100, kCaller, 0);
  enter(110, kCaller, 1);
  leave(120, kCaller, 2);  // of another call
  tracker_.finish(900);
  EXPECT_THAT(drawn(timeline_), IsEmpty());
  EXPECT_EQ(timeline_.uncertain(), 2U);
}

TEST_F(ThreadTimelineTest, CountsCallsOfThreadsBeyondTheLimit) {
  CallTracker tracker;
  RunTracker runs;
  ThreadTimeline small(tracker, runs, 100, 1);
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

TEST_F(ThreadTimelineTest, ShowsTheStatesOfAThreadWithoutCalls) {
  change(100, 0, kCouldGoOn, kCaller);
  change(120, kCaller, kFallsAsleep, kOtherCaller);
  wake(150, kCaller);
  wake(155, kCaller);  // is awake already
  change(180, kOtherCaller, kCouldGoOn, kCaller);
  wake(185, kCaller);  // runs
  change(200, kCaller, kFallsAsleep, kOtherCaller);
  finish(300);
  EXPECT_THAT(states(kCaller), ElementsAre("100-120 runs", "120-150 sleeps", "150-180 can run",
                                           "180-200 runs", "200-300 sleeps"));
  EXPECT_THAT(states(kOtherCaller), ElementsAre("120-180 runs", "180-200 can run", "200-300 runs"));
  EXPECT_EQ(timeline_.threads()[0].ran_ns, 40U);
  EXPECT_EQ(timeline_.threads()[0].calls, 0U);
}

TEST_F(ThreadTimelineTest, ANewThreadIsRunnableUntilItRuns) {
  wake(100, kCaller, 1, EVENT_sched_wakeup_new);
  change(140, 0, kCouldGoOn, kCaller);
  change(150, kCaller, kHasEnded, 0);
  finish(300);
  EXPECT_THAT(states(kCaller), ElementsAre("100-140 can run", "140-150 runs"))
      << "an ended thread does not sleep";
}

TEST_F(ThreadTimelineTest, AThreadWaitsForACpuUntilTheEnd) {
  change(100, 0, kCouldGoOn, kCaller);
  change(120, kCaller, kFallsAsleep, kOtherCaller);
  wake(150, kCaller);
  finish(300);
  EXPECT_THAT(states(kCaller), ElementsAre("100-120 runs", "120-150 sleeps", "150-300 can run"));
}

TEST_F(ThreadTimelineTest, DrawsNoStateAcrossALoss) {
  change(100, 0, kCouldGoOn, kCaller);
  change(120, kCaller, kFallsAsleep, 0);
  lose(130, 1, 3, EVENT_sched_switch);
  wake(150, kCaller);
  change(160, 0, kCouldGoOn, kCaller);
  change(170, kCaller, kFallsAsleep, 0);
  wake(180, kOtherCaller, 1);  // the loss is over
  finish(300);
  EXPECT_THAT(states(kCaller), ElementsAre("100-120 runs", "160-170 runs"));
}

TEST_F(ThreadTimelineTest, WithoutWakeUpsItIsNotKnownHowLongAThreadSleeps) {
  change(100, 0, kCouldGoOn, kCaller);
  change(120, kCaller, kFallsAsleep, 0);
  change(160, 0, kCouldGoOn, kCaller);
  change(170, kCaller, kFallsAsleep, 0);
  finish(300);
  EXPECT_THAT(states(kCaller), ElementsAre("100-120 runs", "160-170 runs"));
}

TEST_F(ThreadTimelineTest, APreemptedThreadWaitsForACpuUntilTheEndAlsoWithoutWakeUps) {
  change(100, 0, kCouldGoOn, kCaller);
  change(120, kCaller, kCouldGoOn, kOtherCaller);
  finish(300);
  EXPECT_THAT(states(kCaller), ElementsAre("100-120 runs", "120-300 can run"));
}

TEST_F(ThreadTimelineTest, WakeUpsThatAreNotTracedAnyMoreDoNotEndASleep) {
  const auto tracing = [](std::vector<std::string> events) {
    TraceConfig config;
    config.events.emplace(events.begin(), events.end());
    return config;
  };
  all_.on_config_change(0, tracing({"sched_switch", "sched_wakeup"}));
  wake(50, kOtherCaller);
  all_.on_config_change(60, tracing({"sched_switch"}));
  change(100, 0, kCouldGoOn, kCaller);
  change(120, kCaller, kFallsAsleep, 0);
  finish(300);
  EXPECT_THAT(states(kCaller), ElementsAre("100-120 runs"));
}

class FirstCpu : public RecordSelector {
 public:
  [[nodiscard]] MetConditions met(const RecordOrigin& from, RecordView /*record*/) const override {
    return from.cpu == 0 ? kAllMet : 0;
  }
  [[nodiscard]] MetConditions met_by(const RecordOrigin& from, RecordView record,
                                     uint32_t /*tid*/) const override {
    return met(from, record);
  }
  void note(MetConditions /*met*/) const override {}
  [[nodiscard]] bool selects_cpu(uint32_t cpu) const override { return cpu == 0; }
  [[nodiscard]] bool selects_loss(const LossItem& loss) const override { return loss.cpu == 0; }
};

TEST_F(ThreadTimelineTest, AThreadThatWentOnWhereTheSelectionDoesNotReachIsNotDrawnAsleep) {
  FirstCpu selector;
  all_.set_selector(selector);
  change(100, 0, kCouldGoOn, kCaller);
  change(120, kCaller, kFallsAsleep, kOtherCaller);
  wake(150, kCaller, 1);
  change(160, 0, kCouldGoOn, kCaller, 1);
  change(170, kOtherCaller, kCouldGoOn, 0);
  change(180, kCaller, kFallsAsleep, kOtherCaller, 1);
  finish(300);
  EXPECT_THAT(states(kCaller), ElementsAre("100-120 runs"));
  EXPECT_THAT(states(kOtherCaller), ElementsAre("120-170 runs"));
}

TEST_F(ThreadTimelineTest, AThreadThatReusesAnIdHasItsOwnLane) {
  learn(task_name(5, 1, 5, "old", 1));
  change(100, 0, kCouldGoOn, 5);
  change(120, 5, kFallsAsleep, 0);
  learn(task_name(5, 200, 5, "new", 190));
  change(210, 0, kCouldGoOn, 5);
  finish(300);
  ASSERT_EQ(timeline_.threads().size(), 2U);
  EXPECT_EQ(timeline_.threads()[0].ran_ns, 20U);
  EXPECT_EQ(timeline_.threads()[1].ran_ns, 90U);
  EXPECT_EQ(timeline_.threads()[1].task.comm, "new");
}

TEST_F(ThreadTimelineTest, MarksLossesUntilTheNextEventOfTheirCpu) {
  lose(100, 1, 5);
  lose(100, 1, 70, EVENT_kmalloc);
  enter(150, kCaller, 0, 0);
  enter(300, kOtherCaller, 0, 1);
  enter(310, kOtherCaller, 0, 1);
  lose(400, 0, 1);
  losses_.finish(450);
  EXPECT_THAT(losses(), ElementsAre("0: 400-450 1, 1 sys_enter", "1: 100-300 75, 70 kmalloc"));
}

TEST_F(ThreadTimelineTest, MarksNoLossWhereAHistoryBegins) {
  lose(100, 1, 0);
  enter(300, kOtherCaller, 0, 1);
  losses_.finish(450);
  EXPECT_THAT(losses(), IsEmpty());
}

}  // namespace
}  // namespace ktraced::test
