// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/summary_analysis.h"

#include <gtest/gtest.h>

#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

class SummaryAnalysisTest : public DecoderTest {
 protected:
  SummaryAnalysisTest() {
    learn(task_name(3350, 1, 3350, "leader"));
    learn(task_name(3352, 1, 3350, "worker"));
    analysis_.add_source(schema_, names_);
  }
  void take(uint32_t cpu, uint64_t ts, uint32_t tid, uint16_t id = EVENT_kfree) {
    const Bytes record = bare_record(ts, id, tid);
    analysis_.on_record({.source = 0, .cpu = cpu}, RecordView(record.data()));
  }

  SummaryAnalysis analysis_;
};

TEST_F(SummaryAnalysisTest, CountsEventsOfEachKindCpuAndProcess) {
  take(0, 10, 3352);
  take(1, 20, 3350);
  take(0, 30, 812, EVENT_sys_exit);
  take(0, 40, 3352);
  take(1, 50, 0);
  EXPECT_EQ(analysis_.total().events, 5U);
  EXPECT_EQ(analysis_.events().at("kfree").events, 4U);
  EXPECT_EQ(analysis_.events().at("sys_exit").events, 1U);
  EXPECT_EQ(analysis_.cpus().at(0).count.events, 3U);
  EXPECT_EQ(analysis_.cpus().at(0).first_ns, 10U);
  EXPECT_EQ(analysis_.cpus().at(0).last_ns, 40U);
  EXPECT_EQ(analysis_.first_ns(), 10U);
  EXPECT_EQ(analysis_.last_ns(), 50U);
  const auto processes = analysis_.processes();
  ASSERT_EQ(processes.size(), 3U);
  EXPECT_EQ(processes[0].pid, 3350U);
  EXPECT_EQ(processes[0].comm, "leader");
  EXPECT_EQ(processes[0].events, 3U);
  EXPECT_EQ(processes[1].pid, 0U);
  EXPECT_EQ(processes[2].comm, "nginx");
}

TEST_F(SummaryAnalysisTest, CountsLossesOfEventsThatNeverAppear) {
  take(0, 10, 3352);
  analysis_.on_loss({.ts = 20, .cpu = 3, .event_id = EVENT_kmalloc, .count = 7});
  analysis_.on_loss({.ts = 20, .cpu = 0, .event_id = 1999, .count = 2});
  analysis_.on_loss({.ts = 20, .cpu = 0, .event_id = UINT32_MAX, .count = 1});
  EXPECT_EQ(analysis_.total().lost, 10U);
  EXPECT_EQ(analysis_.events().at("kmalloc").lost, 7U);
  EXPECT_EQ(analysis_.events().at("kmalloc").events, 0U);
  EXPECT_EQ(analysis_.events().at("event_1999").lost, 2U);
  EXPECT_EQ(analysis_.cpus().at(3).count.lost, 7U);
  EXPECT_EQ(analysis_.cpus().at(0).count.lost, 3U);
}

TEST_F(SummaryAnalysisTest, DoesNotCountThreadsOfUnknownProcessesAsProcesses) {
  take(0, 10, 9999);
  learn(task_name(9998, 1, 9999, "other"));  // of a process with the same number
  take(0, 20, 9998);
  const auto processes = analysis_.processes();
  ASSERT_EQ(processes.size(), 2U);
  EXPECT_NE(processes[0].known, processes[1].known);
  EXPECT_EQ(processes[0].pid, processes[1].pid);
}

TEST_F(SummaryAnalysisTest, CountsProcessesBeyondTheLimitTogether) {
  for (uint32_t i = 0; i < SummaryAnalysis::kMaxProcesses + 10; ++i) take(0, i, 1'000'000 + i);
  EXPECT_EQ(analysis_.processes().size(), SummaryAnalysis::kMaxProcesses);
  EXPECT_EQ(analysis_.other_events(), 10U);
}

}  // namespace
}  // namespace ktraced::test
