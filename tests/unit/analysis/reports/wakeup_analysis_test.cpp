// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/wakeup_analysis.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

constexpr uint32_t kTarget = 3352, kNginx = 812, kMaker = 4000;
constexpr uint32_t kAsleep = 1, kRunnable = 0;

class WakeupAnalysisTest : public DecoderTest {
 protected:
  WakeupAnalysisTest() { analysis_.add_source(schema_, names_); }
  void take(uint32_t cpu, const Bytes& record) {
    analysis_.on_record({.source = 0, .cpu = cpu}, RecordView(record.data()));
  }
  void change(uint64_t ts, uint32_t from, uint32_t state, uint32_t to, uint32_t cpu = 0) {
    take(cpu, make_record(EVENT_sched_switch, ts, from,
                          rec_sched_switch{.prev_pid = static_cast<s32>(from),
                                           .prev_state = state,
                                           .next_pid = static_cast<s32>(to)}));
  }
  void waking(uint64_t ts, uint32_t by, uint32_t tid = kTarget, uint32_t cpu = 1) {
    take(cpu,
         make_record(EVENT_sched_waking, ts, by, rec_sched_waking{.pid = static_cast<s32>(tid)}));
  }
  void wakeup(uint64_t ts, uint32_t by, uint32_t tid = kTarget, uint32_t cpu = 1) {
    take(cpu,
         make_record(EVENT_sched_wakeup, ts, by, rec_sched_wakeup{.pid = static_cast<s32>(tid)}));
  }
  const WakerRow* waker(uint32_t tid) {
    for (const WakerRow& row : analysis_.wakers())
      if (row.tid == tid && row.known) return &row;
    return nullptr;
  }

  WakeupAnalysis analysis_{[](uint32_t tid, const TaskName*) { return tid == kTarget; }, 2};
};

TEST_F(WakeupAnalysisTest, TheWakerIsWhoRanWhereTheWakeUpBegan) {
  change(90, 0, kRunnable, kNginx);
  waking(100, kMaker);
  wakeup(110, kNginx);  // the thread on the CPU of the woken one
  change(150, kNginx, kRunnable, kTarget);
  analysis_.finish(200);
  ASSERT_NE(waker(kMaker), nullptr);
  EXPECT_EQ(waker(kMaker)->count, 1U);
  EXPECT_EQ(waker(kMaker)->comm, "make");
  EXPECT_EQ(waker(kMaker)->delay.max(), 40U);
  EXPECT_EQ(waker(kNginx), nullptr);
  EXPECT_FALSE(analysis_.wakers_are_guessed());
  EXPECT_EQ(analysis_.targets().at(kTarget), "bash");
}

// A timer that comes while a thread runs.
TEST_F(WakeupAnalysisTest, AHardInterruptWakesAndNotTheThreadThatItInterrupts) {
  const auto wake_in = [&](record_context context, uint64_t ts, uint32_t cpu) {
    take(cpu, in_context(context, make_record(EVENT_sched_waking, ts, kMaker,
                                              rec_sched_waking{.pid = s32{kTarget}})));
    take(cpu, in_context(context, make_record(EVENT_sched_wakeup, ts + 5, kMaker,
                                              rec_sched_wakeup{.pid = s32{kTarget}})));
    change(ts + 50, 0, kRunnable, kTarget);
    change(ts + 80, kTarget, kAsleep, 0);
  };
  wake_in(CONTEXT_HARDIRQ, 100, 1);
  wake_in(CONTEXT_HARDIRQ, 1000, 3);
  wake_in(CONTEXT_HARDIRQ_IN_SOFTIRQ, 2000, 1);
  wake_in(CONTEXT_NMI, 3000, 1);
  wake_in(CONTEXT_SOFTIRQ, 4000, 1);  // as of a thread that sends to a local socket
  wake_in(CONTEXT_SOFTIRQ, 5000, 3);
  wake_in(CONTEXT_TASK, 6000, 1);
  analysis_.finish(7000);
  std::vector<std::string> counts;
  for (const WakerRow& row : analysis_.wakers())
    counts.push_back(fmt::format("{} {} {} {}", row.interrupt,
                                 row.cpu ? fmt::format("CPU {}", *row.cpu) : row.comm, row.tid,
                                 row.count));
  EXPECT_THAT(counts,
              ::testing::ElementsAre("hardirq CPU 1 0 2", "hardirq CPU 3 0 1", "nmi CPU 1 0 1",
                                     fmt::format("softirq make {} 2", kMaker),
                                     fmt::format(" make {} 1", kMaker)));
}

TEST_F(WakeupAnalysisTest, APairIsAWakerAndAThreadWithItsLongestDelay) {
  for (const uint64_t ts : {100, 1000, 2000}) {
    waking(ts, kMaker);
    wakeup(ts, kMaker);
    change(ts + (ts == 1000 ? 60 : 40), 0, kRunnable, kTarget);
    change(ts + 80, kTarget, kAsleep, 0);
  }
  waking(3000, kNginx);
  wakeup(3000, kNginx);
  change(3010, 0, kRunnable, kTarget);
  ASSERT_EQ(analysis_.pairs().size(), 2U);
  const WakeupPair& pair = analysis_.pairs()[0];
  EXPECT_EQ(analysis_.wakers()[pair.waker].tid, kMaker);
  EXPECT_EQ(pair.tid, kTarget);
  EXPECT_EQ(pair.comm, "bash");
  EXPECT_EQ(pair.count, 3U);
  EXPECT_EQ(pair.ns, 140U);
  EXPECT_EQ(pair.max_ns, 60U);
  EXPECT_EQ(pair.max_at, 1000U);
  EXPECT_EQ(analysis_.wakers()[analysis_.pairs()[1].waker].tid, kNginx);
}

TEST_F(WakeupAnalysisTest, SaysWhenTheWakerIsGuessed) {
  wakeup(110, kNginx);
  change(150, 0, kRunnable, kTarget);
  EXPECT_EQ(waker(kNginx)->count, 1U);
  EXPECT_TRUE(analysis_.wakers_are_guessed());
}

TEST_F(WakeupAnalysisTest, TheFirstWakerCountsWhenAThreadIsWokenAgain) {
  waking(100, kMaker);
  wakeup(105, kMaker);
  waking(110, kNginx);
  wakeup(112, kNginx);
  change(150, 0, kRunnable, kTarget);
  EXPECT_EQ(waker(kMaker)->count, 1U);
  EXPECT_EQ(waker(kNginx)->count, 0U);
}

TEST_F(WakeupAnalysisTest, ANewThreadIsWokenByItsCreator) {
  take(1, make_record(EVENT_sched_wakeup_new, 100, kMaker,
                      rec_sched_wakeup_new{.pid = static_cast<s32>(kTarget)}));
  change(150, 0, kRunnable, kTarget);
  EXPECT_EQ(waker(kMaker)->count, 1U);
  EXPECT_FALSE(analysis_.wakers_are_guessed());
}

TEST_F(WakeupAnalysisTest, CountsWhatRanInstead) {
  change(90, 0, kRunnable, kNginx);
  waking(100, kMaker);
  wakeup(100, kMaker);
  change(130, kNginx, kAsleep, 0);
  change(140, 0, kRunnable, kTarget);
  analysis_.finish(200);
  EXPECT_EQ(analysis_.instead().at(kNginx).ns, 30U);
  EXPECT_EQ(analysis_.instead().at(kNginx).comm, "nginx");
  EXPECT_EQ(analysis_.instead().at(0).ns, 10U);
  EXPECT_EQ(analysis_.unknown_ns(), 0U);
  const auto longest = analysis_.longest();
  ASSERT_EQ(longest.size(), 1U);
  EXPECT_EQ(longest[0].begin_ns, 100U);
  ASSERT_TRUE(longest[0].instead);
  EXPECT_EQ(longest[0].instead->tid, kNginx);
  EXPECT_EQ(analysis_.wakers()[*longest[0].waker].tid, kMaker);
}

TEST_F(WakeupAnalysisTest, TimeOfUnknownRunsIsUnknown) {
  wakeup(100, kMaker);
  change(150, kNginx, kAsleep, kTarget);  // since when it ran is not in the trace
  EXPECT_EQ(analysis_.unknown_ns(), 50U);
  EXPECT_TRUE(analysis_.instead().empty());
}

TEST_F(WakeupAnalysisTest, PreemptionsHaveNoWaker) {
  change(100, 0, kRunnable, kTarget);
  change(120, kTarget, kRunnable, kNginx);
  change(150, kNginx, kAsleep, kTarget);
  EXPECT_EQ(analysis_.preemptions().count(), 1U);
  EXPECT_EQ(analysis_.preemptions().sum(), 30U);
  EXPECT_EQ(analysis_.delays().count(), 0U);
  EXPECT_TRUE(analysis_.wakers().empty());
  EXPECT_TRUE(analysis_.pairs().empty());
}

TEST_F(WakeupAnalysisTest, CountsWhatRanAfterAPreemption) {
  change(100, 0, kRunnable, kTarget);
  change(120, kTarget, kRunnable, kNginx);
  change(150, kNginx, kAsleep, kTarget);
  EXPECT_EQ(analysis_.instead().at(kNginx).ns, 30U);
  EXPECT_EQ(analysis_.unknown_ns(), 0U);
  const auto longest = analysis_.longest();
  ASSERT_EQ(longest.size(), 1U);
  EXPECT_EQ(longest[0].begin_ns, 120U);
  EXPECT_EQ(longest[0].ns, 30U);
  EXPECT_FALSE(longest[0].waker);
  ASSERT_TRUE(longest[0].instead);
  EXPECT_EQ(longest[0].instead->tid, kNginx);
}

TEST_F(WakeupAnalysisTest, TimeOfUnknownRunsIsUnknownAfterAPreemptionToo) {
  change(100, 0, kRunnable, kTarget);
  change(120, kTarget, kRunnable, kNginx);
  change(150, kMaker, kAsleep, kTarget, 1);  // since when it ran is not in the trace
  EXPECT_EQ(analysis_.preemptions().sum(), 30U);
  EXPECT_EQ(analysis_.unknown_ns(), 30U);
  EXPECT_TRUE(analysis_.instead().empty());
}

TEST_F(WakeupAnalysisTest, DoesNotCountWaitsAcrossALoss) {
  waking(100, kMaker);
  wakeup(100, kMaker);
  analysis_.on_loss({.ts = 110, .cpu = 0, .event_id = EVENT_sched_switch, .count = 4});
  change(150, 0, kRunnable, kTarget);
  EXPECT_EQ(analysis_.delays().count(), 0U);
  EXPECT_EQ(analysis_.uncertain(), 1U);
  EXPECT_EQ(analysis_.lost(), 4U);
}

TEST_F(WakeupAnalysisTest, OtherThreadsAreLeftOut) {
  waking(100, kMaker, kNginx);
  wakeup(100, kMaker, kNginx);
  change(150, 0, kRunnable, kNginx);
  EXPECT_TRUE(analysis_.wakers().empty());
  EXPECT_TRUE(analysis_.targets().empty());
}

TEST_F(WakeupAnalysisTest, AnInterruptOfAnIdleCpuWakes) {
  waking(100, 0);
  wakeup(100, 0);
  change(150, 0, kRunnable, kTarget);
  EXPECT_EQ(waker(0)->count, 1U);
  EXPECT_EQ(waker(0)->comm, "swapper");
}

}  // namespace
}  // namespace ktraced::test
