// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stacks/off_cpu.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

class OffCpuTest : public DecoderTest {
 protected:
  static constexpr int32_t kA = 3352, kB = 812, kC = 4000;
  static constexpr uint32_t kSleeps = 1, kWaitsForDisk = 2, kGoesOn = 0, kEnds = 0x10;
  static constexpr stack_numbers kStacks{.kernel = 0x8000000000000001, .user = 0x8000000000000002};
  static constexpr stack_numbers kOfWaker{.kernel = 0x8000000000000003, .user = 0};

  OffCpuTest() { analysis_.add_source(schema_, names_); }
  void take(uint32_t cpu, const Bytes& record) {
    analysis_.on_record({.source = 0, .cpu = cpu}, RecordView(record.data()));
  }
  // Thread `from` has `stacks`.
  void change(uint64_t ts, uint32_t cpu, int32_t from, uint32_t state, int32_t to,
              const stack_numbers& stacks = kStacks) {
    take(cpu, with_stacks(make_record(EVENT_sched_switch, ts, static_cast<uint32_t>(from),
                                      rec_sched_switch{
                                          .prev_pid = from, .prev_state = state, .next_pid = to}),
                          stacks));
  }
  void wake(uint64_t ts, int32_t tid, int32_t waker) {
    take(1, with_stacks(make_record(EVENT_sched_waking, ts, static_cast<uint32_t>(waker),
                                    rec_sched_waking{.pid = tid}),
                        kOfWaker));
  }
  const StackRow& only_row() {
    EXPECT_EQ(analysis_.sums().rows().size(), 1U);
    static const StackRow kNone;
    return analysis_.sums().rows().empty() ? kNone : analysis_.sums().rows().front();
  }
  std::string owner(const StackPlace& place) {
    return place.owner == StackKey::kNobody ? "nobody"
                                            : analysis_.sums().owners()[place.owner].comm;
  }

  OffCpuAnalysis analysis_{StacksBy::process};
};

TEST_F(OffCpuTest, PairsTheStackOfASleepWithThatOfTheWaker) {
  change(100, 0, kA, kSleeps, kB);
  wake(150, kA, kC);
  change(190, 0, kB, kGoesOn, kA);
  change(200, 0, kA, kSleeps, kB);
  wake(210, kA, kC);
  change(220, 0, kB, kGoesOn, kA);
  const StackRow& row = only_row();
  EXPECT_EQ(row.weight.count, 2U);
  EXPECT_EQ(row.weight.ns, 110U) << "until it runs again";
  EXPECT_EQ(row.weight.longest_ns, 90U);
  EXPECT_EQ(row.weight.longest_ts, 100U);
  EXPECT_EQ(row.key.at.kernel, kStacks.kernel);
  EXPECT_EQ(row.key.at.user, kStacks.user);
  EXPECT_EQ(row.key.at.pid, 3350U);
  EXPECT_EQ(owner(row.key.at), "bash");
  EXPECT_EQ(row.key.waker.kernel, kOfWaker.kernel);
  EXPECT_EQ(owner(row.key.waker), "make");
  EXPECT_EQ(row.waker_ts, 150U);
}

TEST_F(OffCpuTest, HasNoWakerThatTheTraceDoesNotHave) {
  wake(90, kA, kC);  // before it sleeps
  change(100, 0, kA, kSleeps, kB);
  change(190, 0, kB, kGoesOn, kA);
  EXPECT_EQ(owner(only_row().key.waker), "nobody");
  EXPECT_EQ(only_row().weight.ns, 90U);
}

TEST_F(OffCpuTest, CountsByKindOfSleep) {
  change(100, 0, kA, kWaitsForDisk, kB);
  change(150, 0, kB, kSleeps, kA);
  change(160, 0, kA, kSleeps, kB);
  analysis_.finish(200);
  ASSERT_EQ(analysis_.kinds().size(), 2U);
  const SleepSums& disk = analysis_.kinds().at("uninterruptible");
  EXPECT_EQ(disk.ended.count, 1U);
  EXPECT_EQ(disk.ended.ns, 50U);
  const SleepSums& other = analysis_.kinds().at("interruptible");
  EXPECT_EQ(other.ended.ns, 10U);
  EXPECT_EQ(other.open, 1U) << "A sleeps at the end";
  EXPECT_EQ(other.longest_open_ns, 40U);
}

TEST_F(OffCpuTest, CountsNoThreadThatCouldGoOnOrHasEnded) {
  change(100, 0, kA, kGoesOn, kB);
  change(150, 0, kB, kEnds, kA);
  change(160, 0, kA, kGoesOn, kB);
  analysis_.finish(200);
  EXPECT_TRUE(analysis_.sums().rows().empty());
  EXPECT_TRUE(analysis_.kinds().empty());
}

TEST_F(OffCpuTest, CountsNoSleepAcrossALossOfSwitches) {
  change(100, 0, kA, kSleeps, kB);
  analysis_.on_loss({.ts = 120, .cpu = 1, .event_id = EVENT_sched_switch, .count = 3});
  change(190, 0, kB, kGoesOn, kA);
  EXPECT_TRUE(analysis_.sums().rows().empty());
  EXPECT_EQ(analysis_.uncertain(), 1U);
  EXPECT_EQ(analysis_.lost(), 3U);
}

TEST_F(OffCpuTest, CountsASleepWhoseWakingMayBeLost) {
  change(100, 0, kA, kSleeps, kB);
  analysis_.on_loss({.ts = 120, .cpu = 1, .event_id = EVENT_sched_waking, .count = 3});
  change(190, 0, kB, kGoesOn, kA);
  EXPECT_EQ(only_row().weight.ns, 90U);
  EXPECT_EQ(owner(only_row().key.waker), "nobody");
}

TEST_F(OffCpuTest, CountsNoSleepOfAnotherThreadThatHasGotTheId) {
  change(100, 0, kA, kSleeps, kB);
  learn(task_name(3352, 180, 3352, "later", 180));
  change(190, 0, kB, kGoesOn, kA);
  EXPECT_TRUE(analysis_.sums().rows().empty());
  EXPECT_EQ(analysis_.uncertain(), 1U);
}

TEST_F(OffCpuTest, EvictsTheOldestSleeps) {
  OffCpuAnalysis analysis(StacksBy::thread, 4);
  const NameTable names;
  analysis.add_source(built_schema(), names);
  for (int32_t tid = 1; tid <= 5; ++tid) {
    const Bytes record =
        make_record(EVENT_sched_switch, static_cast<uint64_t>(tid), static_cast<uint32_t>(tid),
                    rec_sched_switch{.prev_pid = tid, .prev_state = kSleeps, .next_pid = tid + 1});
    analysis.on_record({}, RecordView(record.data()));
  }
  EXPECT_EQ(analysis.not_followed(), 2U);
}

}  // namespace
}  // namespace ktraced::test
