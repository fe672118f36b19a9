// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/sched_analysis.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

constexpr int32_t kA = 3352, kB = 812, kC = 4000;
constexpr uint32_t kSleeps = 1, kGoesOn = 0, kPreempted = 0x100;

class SchedAnalysisTest : public DecoderTest {
 protected:
  SchedAnalysisTest() { analysis_.add_source(schema_, names_); }
  void take(uint32_t cpu, const Bytes& record) {
    analysis_.on_record({.source = 0, .cpu = cpu}, RecordView(record.data()));
  }
  void change(uint64_t ts, uint32_t cpu, int32_t from, uint32_t state, int32_t to) {
    take(cpu, make_record(EVENT_sched_switch, ts, static_cast<uint32_t>(from),
                          rec_sched_switch{.prev_pid = from, .prev_state = state, .next_pid = to}));
  }
  void wake(uint64_t ts, int32_t tid, uint32_t cpu = 0, uint16_t event = EVENT_sched_wakeup) {
    take(cpu, make_record(event, ts, 0, rec_sched_wakeup{.pid = tid}));
  }
  void lose(uint32_t cpu, uint32_t event = EVENT_sched_switch) {
    analysis_.on_loss({.ts = 1, .cpu = cpu, .event_id = event, .count = 4});
  }
  void change_config(uint64_t ts, const char* config) {
    analysis_.on_config_change(ts, TraceConfig::of(nlohmann::json::parse(config)));
  }
  const SchedRow& thread(int32_t tid) {
    for (const SchedRow& row : analysis_.threads())
      if (row.tid == static_cast<uint32_t>(tid)) return row;
    ADD_FAILURE() << "no thread " << tid;
    static const SchedRow kNone;
    return kNone;
  }

  void finish(uint64_t end_ns) { analysis_.finish(end_ns); }

  SchedAnalysis analysis_{2};
};

TEST_F(SchedAnalysisTest, CountsTimeOnTheCpu) {
  change(100, 0, 0, kGoesOn, kA);  // the CPU was idle
  change(150, 0, kA, kSleeps, kB);
  change(180, 0, kB, kSleeps, 0);
  change(280, 0, 0, kGoesOn, kA);
  change(120, 1, 0, kGoesOn, kC);
  finish(300);
  EXPECT_EQ(thread(kA).on_cpu_ns, 70U) << "also what it runs at the end";
  EXPECT_EQ(thread(kA).switched_in, 2U);
  EXPECT_EQ(thread(kA).slept, 1U);
  EXPECT_EQ(thread(kA).comm, "bash");
  EXPECT_EQ(thread(kB).on_cpu_ns, 30U);
  EXPECT_EQ(analysis_.cpus().at(0).busy_ns, 100U);
  EXPECT_EQ(analysis_.cpus().at(0).idle_ns, 100U) << "from the first switch on";
  EXPECT_EQ(analysis_.cpus().at(1).busy_ns, 180U);
  EXPECT_EQ(analysis_.cpus().at(0).switches, 4U);
}

TEST_F(SchedAnalysisTest, MeasuresTheDelayFromWakeupToRunning) {
  change(100, 0, kA, kSleeps, kB);
  wake(150, kA);
  wake(155, kA);  // is awake already
  change(190, 0, kB, kSleeps, kA);
  wake(200, kA);  // it runs
  change(210, 0, kA, kSleeps, 0);
  change(400, 0, 0, kGoesOn, kA);
  EXPECT_EQ(thread(kA).delay.count(), 1U);
  EXPECT_EQ(thread(kA).delay.max(), 40U);
  EXPECT_EQ(analysis_.delays().count(), 1U);
}

TEST_F(SchedAnalysisTest, MeasuresTheDelayOfANewThread) {
  wake(100, kC, 1, EVENT_sched_wakeup_new);
  change(130, 0, kA, kSleeps, kC);
  EXPECT_EQ(thread(kC).delay.max(), 30U);
}

TEST_F(SchedAnalysisTest, CountsNoDelayAfterPreemption) {
  change(100, 0, kA, kPreempted, kB);
  wake(110, kA);
  change(160, 0, kB, kGoesOn, kA);
  change(200, 0, kA, kSleeps, kB);
  EXPECT_EQ(thread(kA).delay.count(), 0U);
  EXPECT_EQ(thread(kA).preempted, 1U);
  EXPECT_EQ(thread(kA).preempted_ns, 60U);
  EXPECT_EQ(thread(kB).preempted_ns, 40U);
}

TEST_F(SchedAnalysisTest, CountsMigrations) {
  for (int i = 0; i < 3; ++i)
    take(0, make_record(EVENT_sched_migrate_task, 100, 0,
                        rec_sched_migrate_task{.pid = kA, .orig_cpu = 0, .dest_cpu = 1}));
  EXPECT_EQ(thread(kA).migrations, 3U);
}

TEST_F(SchedAnalysisTest, NamesTasksThatRanDuringTheLongestDelays) {
  change(50, 0, kA, kSleeps, kB);
  wake(100, kA);
  change(130, 0, kB, kSleeps, kC);
  change(200, 0, kC, kSleeps, kA);  // after 100, of which B ran 30 and C 70
  change(210, 0, kA, kSleeps, 0);
  wake(300, kA);
  change(305, 0, 0, kGoesOn, kA);
  change(310, 0, kA, kSleeps, 0);
  wake(320, kB);
  change(321, 0, 0, kGoesOn, kB);
  const auto longest = analysis_.longest();
  ASSERT_EQ(longest.size(), 2U);
  EXPECT_EQ(longest[0].ns, 100U);
  EXPECT_EQ(longest[0].woken_ns, 100U);
  EXPECT_EQ(longest[0].comm, "bash");
  EXPECT_EQ(longest[0].instead_tid, static_cast<uint32_t>(kC));
  EXPECT_EQ(longest[0].instead_comm, "make");
  EXPECT_EQ(longest[0].instead_ns, 70U);
  EXPECT_EQ(longest[1].ns, 5U);
  EXPECT_EQ(longest[1].instead_tid, 0U);
  EXPECT_EQ(longest[1].instead_comm, "idle");
}

// Two threads take turns on the CPU while A waits: B runs 3 of every 4 ns.
class LongWait : public SchedAnalysisTest {
 protected:
  // The delay of A, which waits for `turns` turns.
  static SchedDelay after(int turns, SchedAnalysis& analysis) {
    uint64_t ts = 1000;
    const auto change = [&](uint64_t at, int32_t from, int32_t to) {
      const Bytes record =
          make_record(EVENT_sched_switch, at, static_cast<uint32_t>(from),
                      rec_sched_switch{.prev_pid = from, .prev_state = kGoesOn, .next_pid = to});
      analysis.on_record({.source = 0, .cpu = 0}, RecordView(record.data()));
    };
    change(ts, 0, kB);
    const Bytes wakeup = make_record(EVENT_sched_wakeup, ts, 0, rec_sched_wakeup{.pid = kA});
    analysis.on_record({.source = 0, .cpu = 0}, RecordView(wakeup.data()));
    for (int turn = 0; turn < turns; ++turn, ts += 4) {
      change(ts + 3, kB, kC);
      change(ts + 4, kC, turn + 1 < turns ? kB : kA);
    }
    for (const SchedDelay& delay : analysis.longest())
      if (delay.tid == static_cast<uint32_t>(kA)) return delay;
    ADD_FAILURE() << "no delay";
    return {};
  }
};

TEST_F(LongWait, NamesWhatRanInsteadHoweverManyRunsItSpans) {
  for (const int turns : {1, 40, 5000}) {
    SchedAnalysis analysis(2);
    analysis.add_source(schema_, names_);
    const SchedDelay delay = after(turns, analysis);
    EXPECT_EQ(delay.ns, 4U * static_cast<uint64_t>(turns));
    EXPECT_EQ(delay.instead_tid, static_cast<uint32_t>(kB)) << turns;
    EXPECT_EQ(delay.instead_ns, 3U * static_cast<uint64_t>(turns));
    EXPECT_EQ(analysis.ran_on(0, 1003, 1004),
              (std::map<uint32_t, uint64_t>{{static_cast<uint32_t>(kC), 1}}));
  }
}

TEST_F(SchedAnalysisTest, EvictsRunsForWhichNoThreadWaits) {
  for (uint64_t ts = 1000; ts < 9000; ts += 2) {
    change(ts, 0, 0, kGoesOn, kB);
    change(ts + 1, 0, kB, kSleeps, 0);
  }
  EXPECT_TRUE(analysis_.ran_on(0, 1000, 8000).empty());
  EXPECT_EQ(analysis_.ran_on(0, 8998, 8999),
            (std::map<uint32_t, uint64_t>{{static_cast<uint32_t>(kB), 1}}));
}

// Otherwise many long waits would take quadratic time.
TEST_F(LongWait, KnowsOnlyTheNewestRunsWhenAllLooksAreUsed) {
  constexpr int kTurns = 5000;
  constexpr uint64_t kEnd = 1000 + 4 * kTurns, kNewest = 32;  // of each thread
  SchedAnalysis analysis(2);
  analysis.add_source(schema_, names_);
  EXPECT_EQ(after(kTurns, analysis).instead_ns, 3U * kTurns);
  const auto ran = [&](uint64_t turns) {
    return std::map<uint32_t, uint64_t>{{static_cast<uint32_t>(kB), 3 * turns},
                                        {static_cast<uint32_t>(kC), turns}};
  };
  EXPECT_EQ(analysis.ran_on(0, 1000, kEnd), ran(kTurns));
  for (int wait = 0; wait < 100; ++wait) static_cast<void>(analysis.ran_on(0, 1000, kEnd));
  EXPECT_EQ(analysis.ran_on(0, 1000, kEnd), ran(kNewest));
}

TEST_F(LongWait, NamesNothingIfMostOfItIsEvicted) {
  SchedAnalysis analysis(2, SchedAnalysis::kMaxWaiting, 8);
  analysis.add_source(schema_, names_);
  EXPECT_EQ(after(100, analysis).instead_tid, std::nullopt);
  EXPECT_EQ(analysis.ran_on(0, 1396, 1399),
            (std::map<uint32_t, uint64_t>{{static_cast<uint32_t>(kB), 3}}));
  EXPECT_TRUE(analysis.ran_on(0, 1000, 1300).empty());
}

TEST_F(SchedAnalysisTest, MeasuresNothingAcrossALoss) {
  change(100, 0, 0, kGoesOn, kA);
  wake(110, kB);
  lose(0);
  change(200, 0, kA, kSleeps, kB);  // another task may have run in between
  EXPECT_EQ(thread(kA).on_cpu_ns, 0U);
  EXPECT_EQ(thread(kB).delay.count(), 0U);
  EXPECT_EQ(analysis_.lost(), 4U);
  EXPECT_EQ(analysis_.uncertain(), 2U);
  change(250, 0, kB, kSleeps, 0);
  wake(260, kA);
  change(270, 0, 0, kGoesOn, kA);
  EXPECT_EQ(thread(kB).on_cpu_ns, 50U);
  EXPECT_EQ(thread(kA).delay.max(), 10U);
}

TEST_F(SchedAnalysisTest, MeasuresRunsButNoDelaysAcrossALossOfWakeups) {
  change(100, 0, 0, kGoesOn, kA);
  wake(110, kB);
  lose(0, EVENT_sched_wakeup);
  change(200, 0, kA, kSleeps, kB);
  EXPECT_EQ(thread(kA).on_cpu_ns, 100U);
  EXPECT_EQ(thread(kB).delay.count(), 0U);
  EXPECT_EQ(analysis_.lost(), 4U);
  EXPECT_EQ(analysis_.uncertain(), 1U);
}

// The trace contains only events of A (3352, of process 3350). The CPU is not idle when nothing is
// known of it, and B did not run all the time between two switches that involve A.
TEST_F(SchedAnalysisTest, MeasuresOnlyAcceptedTasksUnderAFilter) {
  change_config(0, R"({"filter":{"pid":[3350]}})");
  change(100, 0, 0, kGoesOn, kA);
  change(150, 0, kA, kSleeps, 0);  // then 0 to B and back, perhaps
  wake(190, kA);
  change(200, 0, 0, kGoesOn, kA);
  change(230, 0, kA, kPreempted, kB);  // then B to 0 and to B again
  wake(240, kB);                       // caused by A on another CPU
  change(300, 0, kB, kSleeps, kA);
  finish(400);
  EXPECT_EQ(thread(kA).on_cpu_ns, 50U + 30U + 100U);
  EXPECT_EQ(thread(kA).delay.max(), 10U);
  EXPECT_EQ(thread(kA).preempted_ns, 70U);
  EXPECT_TRUE(thread(kA).measured);
  EXPECT_FALSE(thread(kB).measured);
  EXPECT_EQ(thread(kB).on_cpu_ns, 0U);
  EXPECT_EQ(thread(kB).slept, 1U) << "what is seen is counted";
  EXPECT_EQ(analysis_.cpus().at(0).busy_ns, 180U);
  EXPECT_EQ(analysis_.cpus().at(0).idle_ns, 0U);
  EXPECT_EQ(analysis_.cpus().at(0).unknown_ns, 120U);
  EXPECT_EQ(analysis_.uncertain(), 0U);
}

// The trace does not say which threads a follow filter accepts. A switch from or to the idle task
// is recorded because the other thread is accepted; so are events of the thread itself.
TEST_F(SchedAnalysisTest, RecognizesAcceptedTasksUnderAFollowFilter) {
  change_config(0, R"({"filter":{"follow":[77]}})");
  change(100, 0, 0, kGoesOn, kA);
  change(110, 0, kA, kSleeps, kB);
  change(130, 0, kB, kSleeps, kC);  // either of the two may be the accepted one
  EXPECT_EQ(thread(kA).on_cpu_ns, 10U);
  EXPECT_FALSE(thread(kB).measured);
  take(0, make_record(EVENT_sys_enter, 135, kB, rec_sys_enter{}));
  change(140, 0, kC, kSleeps, kB);
  change(150, 0, kB, kSleeps, kC);
  EXPECT_EQ(thread(kB).on_cpu_ns, 10U);
  EXPECT_FALSE(thread(kC).measured);
}

// Switches between a child and others of which the trace does not say whether they match.
TEST_F(SchedAnalysisTest, KnowsAChildOfAFollowedThreadFromItsFork) {
  change_config(0, R"({"filter":{"follow":[4000]}})");
  auto fork = [&](uint64_t ts, int32_t parent, int32_t child) {
    take(0, make_record(EVENT_sched_process_fork, ts, static_cast<uint32_t>(parent),
                        rec_sched_process_fork{
                            .parent_pid = parent, .child_pid = child, .child_tgid = child}));
  };
  fork(50, kC, kA);
  fork(60, kA, 9000);
  fork(70, 9500, 9600);  // its parent is not known to be followed
  change(100, 0, kB, kSleeps, kA);
  change(120, 0, kA, kSleeps, 9000);
  change(150, 0, 9000, kSleeps, kB);
  change(160, 0, kB, kSleeps, 9600);
  change(170, 0, 9600, kSleeps, kB);
  EXPECT_EQ(thread(kA).on_cpu_ns, 20U);
  EXPECT_TRUE(thread(kA).measured);
  EXPECT_EQ(thread(9000).on_cpu_ns, 30U);
  EXPECT_FALSE(thread(kB).measured);
  EXPECT_FALSE(thread(9600).measured);
}

TEST_F(SchedAnalysisTest, MeasuresNothingAcrossAMissingSwitch) {
  change(100, 0, 0, kGoesOn, kA);
  change(200, 0, kB, kSleeps, 0);  // from A to B was not recorded
  EXPECT_EQ(thread(kA).on_cpu_ns, 0U);
  EXPECT_EQ(thread(kB).on_cpu_ns, 0U);
  EXPECT_EQ(analysis_.uncertain(), 1U);
  finish(210);
  EXPECT_EQ(analysis_.cpus().at(0).unknown_ns, 100U);
  EXPECT_EQ(analysis_.cpus().at(0).idle_ns, 10U);
}

TEST_F(SchedAnalysisTest, MeasuresNothingAcrossAConfigChange) {
  change_config(0, R"({"state":"running","events":["sched_switch"]})");
  change(100, 0, 0, kGoesOn, kA);
  wake(110, kB);
  change_config(150, R"({"state":"running","events":["sched_switch","kmalloc"]})");
  EXPECT_EQ(analysis_.uncertain(), 0U) << "of no consequence here";
  change_config(160, R"({"state":"paused","events":["sched_switch","kmalloc"]})");
  change_config(900, R"({"state":"running","events":["sched_switch","kmalloc"]})");
  change(1000, 0, kA, kSleeps, kB);
  finish(1100);
  EXPECT_EQ(thread(kA).on_cpu_ns, 0U);
  EXPECT_EQ(thread(kB).delay.count(), 0U);
  EXPECT_EQ(thread(kB).on_cpu_ns, 100U);
  EXPECT_EQ(analysis_.uncertain(), 2U);
}

TEST_F(SchedAnalysisTest, MeasuresRunsButNoDelaysWhenWakeupsAreEnabled) {
  change_config(0, R"({"events":["sched_switch"]})");
  change(100, 0, 0, kGoesOn, kA);
  change(150, 0, kA, kPreempted, 0);
  change_config(160, R"({"events":["sched_switch","sched_wakeup"]})");
  change(200, 0, 0, kGoesOn, kA);
  EXPECT_EQ(thread(kA).on_cpu_ns, 50U);
  EXPECT_EQ(analysis_.cpus().at(0).idle_ns, 50U);
  EXPECT_EQ(thread(kA).preempted_ns, 0U);
  EXPECT_EQ(analysis_.uncertain(), 1U);
}

TEST_F(SchedAnalysisTest, EvictsAndReportsTheLongestWaitingBeyondTheLimit) {
  SchedAnalysis small(2, 4);
  small.add_source(schema_, names_);
  auto record = [&](uint16_t id, uint64_t ts, auto body) {
    const Bytes bytes = make_record(id, ts, 0, body);
    small.on_record({.source = 0, .cpu = 0}, RecordView(bytes.data()));
  };
  for (int32_t i = 1; i <= 5; ++i)
    record(EVENT_sched_wakeup, static_cast<uint64_t>(i), rec_sched_wakeup{.pid = 100 + i});
  EXPECT_EQ(small.not_followed(), 2U);
  record(EVENT_sched_switch, 10, rec_sched_switch{.prev_pid = 0, .next_pid = 105});
  EXPECT_EQ(small.delays().count(), 1U);
}

TEST_F(SchedAnalysisTest, CountsThreadsBeyondTheLimitTogether) {
  for (uint32_t i = 0; i < SchedAnalysis::kMaxRows + 5; ++i)
    change(i, 0, static_cast<int32_t>(1'000'000 + i), kSleeps, 0);
  ASSERT_EQ(analysis_.threads().size(), SchedAnalysis::kMaxRows + 1);
  EXPECT_TRUE(analysis_.threads().back().others);
  EXPECT_EQ(analysis_.threads().back().slept, 5U);
}

}  // namespace
}  // namespace ktraced::test
