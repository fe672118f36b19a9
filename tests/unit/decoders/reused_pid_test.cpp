// SPDX-License-Identifier: BSD-2-Clause
// A process is its pid and its start time.
#include <gtest/gtest.h>

#include "analysis/coverage/identities.h"
#include "analysis/intervals/timeline_tasks.h"
#include "analysis/reports/kmem_analysis.h"
#include "analysis/reports/sched_analysis.h"
#include "analysis/reports/summary_analysis.h"
#include "analysis/reports/syscall_analysis.h"
#include "decoders/perfetto/perfetto_writer.h"
#include "perfetto/read.h"
#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

constexpr uint32_t kPid = 7000, kThread = 7001;

// Process 7000 ends at 500; another one has the number from 600 on. Each has a thread 7001.
class ReusedPid : public DecoderTest {
 protected:
  ReusedPid() {
    learn(task_name(kPid, 100, kPid, "first", 100));
    learn(task_name(kThread, 150, kPid, "of-first", 150));
    learn(task_name(kPid, 600, kPid, "second", 600));
    learn(task_name(kThread, 650, kPid, "of-second", 650));
  }
  template <class Record>
  void take(MergeSink& sink, uint16_t id, uint64_t ts, uint32_t tid, Record record) {
    const Bytes bytes = make_record(id, ts, tid, record);
    sink.on_record({.source = 0, .cpu = 0}, RecordView(bytes.data()));
  }
};

TEST_F(ReusedPid, IsTwoProcessesInASummaryEachNamedByItsLeader) {
  SummaryAnalysis analysis;
  analysis.add_source(schema_, names_);
  take(analysis, EVENT_kfree, 200, kThread, rec_kfree{});
  take(analysis, EVENT_kfree, 300, kThread, rec_kfree{});
  take(analysis, EVENT_kfree, 700, kThread, rec_kfree{});
  const auto processes = analysis.processes();
  ASSERT_EQ(processes.size(), 2U);
  EXPECT_EQ(processes[0].pid, kPid);
  EXPECT_EQ(processes[0].comm, "first");
  EXPECT_EQ(processes[0].start_ns, 100U);
  EXPECT_EQ(processes[0].events, 2U);
  EXPECT_EQ(processes[1].pid, kPid);
  EXPECT_EQ(processes[1].comm, "second");
  EXPECT_EQ(processes[1].start_ns, 600U);
}

TEST_F(ReusedPid, IsTwoProcessesInSystemCalls) {
  CallTracker tracker;
  SyscallAnalysis analysis(tracker, 3);
  tracker.add_source(schema_, names_);
  for (uint64_t ts : {200, 300, 700}) {
    take(tracker, EVENT_sys_enter, ts, kThread, rec_sys_enter{.nr = 0, .args = {}});
    take(tracker, EVENT_sys_exit, ts + 10, kThread, rec_sys_exit{.nr = 0});
  }
  const auto& rows = analysis.by_process();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].comm, "first");
  EXPECT_EQ(rows[0].calls, 2U);
  EXPECT_EQ(rows[1].comm, "second");
  EXPECT_EQ(rows[1].pid, kPid);
  EXPECT_EQ(rows[1].start_ns, 600U);
}

TEST_F(ReusedPid, IsTwoProcessesOfKernelMemory) {
  KmemAnalysis analysis;
  analysis.add_source(schema_, names_);
  take(analysis, EVENT_kmalloc, 200, kThread, rec_kmalloc{.ptr = 0x1000, .bytes_alloc = 8});
  take(analysis, EVENT_kmalloc, 700, kPid, rec_kmalloc{.ptr = 0x2000, .bytes_alloc = 8});
  const auto& rows = analysis.rows(KmemGroup::task);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "first");
  EXPECT_EQ(rows[1].name, "second");
  EXPECT_EQ(rows[1].actor, kPid);
  EXPECT_EQ(rows[1].start_ns, 600U);
}

TEST_F(ReusedPid, IsTwoThreadsOfTheScheduler) {
  SchedAnalysis analysis(2);
  analysis.add_source(schema_, names_);
  const auto pid = static_cast<int32_t>(kPid);
  for (uint64_t ts : {200, 700}) {
    take(analysis, EVENT_sched_switch, ts, 0, rec_sched_switch{.next_pid = pid});
    take(analysis, EVENT_sched_switch, ts + 30, kPid,
         rec_sched_switch{.prev_pid = pid, .prev_state = 1});
  }
  ASSERT_EQ(analysis.threads().size(), 2U);
  EXPECT_EQ(analysis.threads()[0].comm, "first");
  EXPECT_EQ(analysis.threads()[0].on_cpu_ns, 30U);
  EXPECT_EQ(analysis.threads()[1].comm, "second");
  EXPECT_EQ(analysis.threads()[1].on_cpu_ns, 30U);
  EXPECT_EQ(analysis.threads()[1].start_ns, 600U);
}

TEST_F(ReusedPid, IsTwoTasksOfATimelineEvenWithTheSameName) {
  learn(task_name(kPid, 900, kPid, "first", 900));
  TimelineTasks tasks(10);
  const uint32_t first = tasks.number_of(kPid, 200, names_);
  EXPECT_NE(tasks.number_of(kPid, 950, names_), first);
  EXPECT_EQ(tasks.number_of(kPid, 210, names_), first);
}

TEST_F(ReusedPid, IsReleasedInPerfettoBeforeItIsReused) {
  const Manifest manifest;
  const std::vector<uint64_t> changes;
  const TraceStacks stacks;
  FrameNames files({});
  PerfettoWriter writer({{.sources = {schema_, names_, &symbols_},
                          .manifest = manifest,
                          .begin_ns = 100,
                          .end_ns = 900,
                          .changes = changes}},
                        stacks, files);
  take(writer, EVENT_kfree, 200, kPid, rec_kfree{});
  take(writer, EVENT_kfree, 700, kThread, rec_kfree{});
  writer.finish();
  const ReadTrace trace = read_perfetto(writer.out());
  EXPECT_TRUE(trace.faults.empty());
  ASSERT_EQ(trace.events.size(), 3U);
  EXPECT_EQ(trace.events[1].name, "sched_process_free");
  EXPECT_EQ(trace.events[1].ts, 699U);
  EXPECT_EQ(trace.events[1].args.at("pid"), "7000");
  EXPECT_EQ(trace.events[1].args.at("comm"), "first");
}

TEST(Identities, AreTheLatestOfTheirIdWithoutAStartTime) {
  Identities identities(3);
  EXPECT_EQ(identities.number_of(5, 0), 0U);
  EXPECT_EQ(identities.number_of(5, 100), 0U) << "it is known later";
  EXPECT_EQ(identities.number_of(5, 200), 1U);
  EXPECT_EQ(identities.number_of(5, 0), 1U);
  EXPECT_EQ(identities.number_of(5, 100), 0U);
  EXPECT_EQ(identities.number_of(6, 100), 2U);
  EXPECT_EQ(identities.number_of(7, 100), std::nullopt);
}

}  // namespace
}  // namespace ktraced::test
