// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/syscall_analysis.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

constexpr int32_t kRead = 0, kOpenat = 257, kFutex = 202;
constexpr uint32_t kLeader = 3350, kWorker = 3352, kOther = 812;

class SyscallAnalysisTest : public DecoderTest {
 protected:
  SyscallAnalysisTest() {
    learn(task_name(kLeader, 1, kLeader, "leader"));
    learn(task_name(kWorker, 1, kLeader, "worker"));
    tracker_.add_source(schema_, names_);
  }
  void take(uint32_t cpu, const Bytes& record) {
    tracker_.on_record({.source = 0, .cpu = cpu}, RecordView(record.data()));
  }
  void enter(uint64_t ts, uint32_t tid, int32_t nr, uint64_t arg = 0, uint32_t cpu = 0) {
    take(cpu, make_record(EVENT_sys_enter, ts, tid, rec_sys_enter{.nr = nr, .args = {arg}}));
  }
  void exit(uint64_t ts, uint32_t tid, int32_t nr, int64_t ret = 0, uint32_t cpu = 0) {
    take(cpu, make_record(EVENT_sys_exit, ts, tid, rec_sys_exit{.nr = nr, .ret = ret}));
  }
  void lose(uint32_t cpu, uint32_t event) {
    tracker_.on_loss({.ts = 1, .cpu = cpu, .event_id = event, .count = 2});
  }
  const SyscallRow* by_call(int32_t nr) {
    for (const SyscallRow& row : analysis_.by_call())
      if (row.nr == nr) return &row;
    return nullptr;
  }
  const SyscallRow* of_process(uint32_t pid, int32_t nr) {
    for (const SyscallRow& row : analysis_.by_process())
      if (row.pid == pid && row.nr == nr) return &row;
    return nullptr;
  }

  CallTracker tracker_;
  SyscallAnalysis analysis_{tracker_, 3};
};

TEST_F(SyscallAnalysisTest, MeasuresCallsOfEachThread) {
  enter(100, kWorker, kRead);
  enter(150, kOther, kRead);
  exit(250, kOther, kRead);
  exit(400, kWorker, kRead);
  enter(500, kLeader, kRead);
  exit(550, kLeader, kRead);
  EXPECT_EQ(by_call(kRead)->calls, 3U);
  EXPECT_EQ(by_call(kRead)->ns.sum(), 450U);
  EXPECT_EQ(by_call(kRead)->ns.max(), 300U);
  ASSERT_NE(of_process(kLeader, kRead), nullptr);
  EXPECT_EQ(of_process(kLeader, kRead)->ns.sum(), 350U) << "of both of its threads";
  EXPECT_EQ(of_process(kLeader, kRead)->comm, "leader");
  EXPECT_EQ(of_process(kOther, kRead)->ns.sum(), 100U);
  EXPECT_EQ(analysis_.running(), 0U);
}

TEST_F(SyscallAnalysisTest, CountsErrors) {
  for (const int64_t ret : {-2, -2, -13, 0, 5, -4096}) {
    enter(100, kWorker, kOpenat);
    exit(200, kWorker, kOpenat, ret);
  }
  EXPECT_EQ(by_call(kOpenat)->calls, 6U);
  EXPECT_EQ(by_call(kOpenat)->failed, 3U);
  const std::map<int32_t, uint64_t> expected{{2, 2}, {13, 1}};
  EXPECT_EQ(by_call(kOpenat)->errors, expected);
}

TEST_F(SyscallAnalysisTest, KeepsUnknownNumbersApart) {
  for (const int32_t nr : {kRead, INT32_MIN, INT32_MIN + 1, 0x20000000, -1}) {
    enter(100, kWorker, nr);
    exit(200, kWorker, nr);
  }
  EXPECT_EQ(analysis_.by_call().size(), 5U);
  for (const SyscallRow& row : analysis_.by_call()) EXPECT_EQ(row.calls, 1U) << row.nr;
  EXPECT_EQ(analysis_.by_process().size(), 5U);
  for (const SyscallRow& row : analysis_.by_process()) EXPECT_EQ(row.calls, 1U) << row.nr;
}

TEST_F(SyscallAnalysisTest, KeepsTheSlowestCallsWithTheirArguments) {
  for (const uint64_t ns : {50, 20, 90, 10, 70}) {
    enter(1000, kWorker, kFutex, ns);
    exit(1000 + ns, kWorker, kFutex, static_cast<int64_t>(ns));
  }
  const auto slowest = analysis_.slowest();
  ASSERT_EQ(slowest.size(), 3U);
  EXPECT_EQ(slowest[0].ns, 90U);
  EXPECT_EQ(slowest[0].args[0], 90U);
  EXPECT_EQ(slowest[0].ret, 90);
  EXPECT_EQ(slowest[0].tid, kWorker);
  EXPECT_EQ(slowest[0].comm, "worker");
  EXPECT_EQ(slowest[1].ns, 70U);
  EXPECT_EQ(slowest[2].ns, 50U);
}

TEST_F(SyscallAnalysisTest, ReportsUnpairedCalls) {
  exit(100, kWorker, kRead);     // began before the trace
  enter(200, kWorker, kFutex);   // its end is missing
  enter(300, kWorker, kOpenat);  // its end is missing too, and so is the beginning of
  exit(400, kWorker, kRead);     // this one
  enter(500, kOther, kRead);     // still running
  EXPECT_EQ(analysis_.begun_before(), 2U);
  EXPECT_EQ(analysis_.end_unseen(), 2U);
  EXPECT_EQ(analysis_.running(), 1U);
  EXPECT_EQ(by_call(kRead)->calls, 2U);
  EXPECT_EQ(by_call(kRead)->ns.count(), 0U);
  EXPECT_EQ(by_call(kFutex), nullptr) << "only what returns is counted";
}

// The kernel no longer knows the number when sigreturn returns.
TEST_F(SyscallAnalysisTest, PairsSigreturnWithoutANumberAtItsExit) {
  enter(100, kWorker, 15);
  exit(130, kWorker, -1, -512);
  EXPECT_EQ(by_call(15)->calls, 1U);
  EXPECT_EQ(by_call(15)->ns.sum(), 30U);
  EXPECT_EQ(by_call(15)->failed, 0U);
  EXPECT_EQ(analysis_.end_unseen() + analysis_.begun_before(), 0U);
}

TEST_F(SyscallAnalysisTest, CountsErrorsOfCallsThatADebuggerSkips) {
  enter(100, kWorker, -1);
  exit(110, kWorker, -1, -38);
  exit(120, kWorker, -1, -1);
  exit(130, kOther, -1, -2);  // it may be a sigreturn that began before
  ASSERT_NE(by_call(-1), nullptr);
  EXPECT_EQ(by_call(-1)->calls, 3U);
  const std::map<int32_t, uint64_t> expected{{1, 1}, {38, 1}};
  EXPECT_EQ(by_call(-1)->errors, expected);
  EXPECT_EQ(analysis_.slowest().at(0).ret, -38);
}

TEST_F(SyscallAnalysisTest, DoesNotMeasureCallsDuringALoss) {
  enter(100, kWorker, kRead);  // before the loss
  lose(1, EVENT_sys_exit);
  enter(200, kOther, kRead);  // the loss is not over yet
  exit(250, kOther, kRead);
  exit(300, kWorker, kRead);
  enter(400, kOther, kRead, 0, 1);  // now it is
  exit(450, kOther, kRead, 0, 1);
  EXPECT_EQ(analysis_.uncertain(), 2U);
  EXPECT_EQ(analysis_.lost(), 2U);
  EXPECT_EQ(by_call(kRead)->calls, 3U);
  EXPECT_EQ(by_call(kRead)->ns.count(), 1U);
  EXPECT_EQ(by_call(kRead)->ns.sum(), 50U);
}

TEST_F(SyscallAnalysisTest, IgnoresLossesOfOtherEvents) {
  enter(100, kWorker, kRead);
  lose(0, EVENT_kmalloc);
  exit(300, kWorker, kRead);
  EXPECT_EQ(analysis_.uncertain(), 0U);
  EXPECT_EQ(analysis_.lost(), 0U);
}

constexpr int32_t kClone = 56, kFork = 57, kExecve = 59, kExit = 60, kExitGroup = 231;

// fork() is called once and returns twice.
TEST_F(SyscallAnalysisTest, DoesNotCountTheReturnOfANewThreadAsACall) {
  for (const int32_t nr : {kFork, kClone, 435}) {
    enter(100, kWorker, nr);
    exit(110, 4000, nr, 0);  // the child
    exit(130, kWorker, nr, 4000);
    EXPECT_EQ(by_call(nr)->calls, 1U) << nr;
    EXPECT_EQ(by_call(nr)->ns.sum(), 30U) << nr;
  }
  exit(200, kOther, kFork, 4001);  // of a parent that called fork before
  EXPECT_EQ(analysis_.child_returns(), 3U);
  EXPECT_EQ(analysis_.begun_before(), 1U);
  EXPECT_EQ(of_process(4000, kFork), nullptr);
}

TEST_F(SyscallAnalysisTest, EndsExitCallsWithTheirThread) {
  enter(100, kWorker, kExit);
  enter(110, kLeader, kExitGroup);
  EXPECT_EQ(analysis_.ended(), 2U);
  EXPECT_EQ(analysis_.running(), 0U);
  EXPECT_EQ(by_call(kExitGroup)->calls, 1U);
  EXPECT_EQ(by_call(kExitGroup)->ns.count(), 0U);
  EXPECT_EQ(of_process(kLeader, kExit)->calls, 1U);
  enter(200, kWorker, kRead);  // another thread with the same id
  EXPECT_EQ(analysis_.end_unseen(), 0U);
}

TEST_F(SyscallAnalysisTest, EndsCallsOfAKilledThread) {
  enter(100, kWorker, kFutex);
  take(0, make_record(EVENT_sched_process_exit, 150, kWorker,
                      rec_sched_process_exit{.pid = static_cast<int32_t>(kWorker)}));
  EXPECT_EQ(analysis_.killed(), 1U);
  EXPECT_EQ(analysis_.running(), 0U);
}

// A thread that calls execve() gets the id of its process before it returns.
TEST_F(SyscallAnalysisTest, MeasuresExecByAThread) {
  enter(100, kWorker, kExecve);
  rec_sched_process_exec exec{};
  exec.pid = static_cast<int32_t>(kLeader);
  exec.old_pid = static_cast<int32_t>(kWorker);
  take(0, make_record(EVENT_sched_process_exec, 140, kLeader, exec));
  exit(150, kLeader, kExecve);
  EXPECT_EQ(by_call(kExecve)->ns.sum(), 50U);
  EXPECT_EQ(analysis_.begun_before() + analysis_.running() + analysis_.end_unseen(), 0U);
}

TEST_F(SyscallAnalysisTest, MeasuresNothingAcrossAConfigChange) {
  auto change_config = [&](uint64_t ts, const char* config) {
    tracker_.on_config_change(ts, TraceConfig::of(nlohmann::json::parse(config)));
  };
  change_config(0, R"({"state":"running"})");
  enter(100, kWorker, kRead);
  change_config(150, R"({"state":"paused"})");
  change_config(900, R"({"state":"running"})");
  exit(1000, kWorker, kRead);  // perhaps of another call
  enter(1100, kWorker, kRead);
  exit(1200, kWorker, kRead);
  EXPECT_EQ(by_call(kRead)->calls, 2U);
  EXPECT_EQ(by_call(kRead)->ns.sum(), 100U);
  EXPECT_EQ(analysis_.uncertain(), 1U);
}

TEST_F(SyscallAnalysisTest, EvictsAndReportsTheOldestCallsBeyondTheLimit) {
  CallTracker tracker(4);
  SyscallAnalysis small(tracker, 3);
  tracker.add_source(schema_, names_);
  auto record = [&](uint16_t id, uint64_t ts, uint32_t tid, auto body) {
    const Bytes bytes = make_record(id, ts, tid, body);
    tracker.on_record({.source = 0, .cpu = 0}, RecordView(bytes.data()));
  };
  for (uint32_t i = 1; i <= 5; ++i) record(EVENT_sys_enter, i, i, rec_sys_enter{});
  EXPECT_EQ(small.not_followed(), 2U);
  EXPECT_EQ(small.running(), 3U);
  record(EVENT_sys_exit, 10, 5, rec_sys_exit{});
  EXPECT_EQ(small.by_call().at(0).ns.sum(), 5U);
}

TEST_F(SyscallAnalysisTest, DoesNotCountThreadsOfUnknownProcessesAsProcesses) {
  exit(1, 9999, kRead);
  ASSERT_EQ(analysis_.by_process().size(), 1U);
  EXPECT_FALSE(analysis_.by_process()[0].known);
  EXPECT_EQ(analysis_.by_process()[0].pid, 9999U);
}

TEST_F(SyscallAnalysisTest, CountsRowsBeyondTheLimitTogether) {
  for (uint32_t i = 0; i < SyscallAnalysis::kMaxRows + 5; ++i) exit(i, 1'000'000 + i, kRead);
  ASSERT_EQ(analysis_.by_process().size(), SyscallAnalysis::kMaxRows + 1);
  EXPECT_TRUE(analysis_.by_process().back().others);
  EXPECT_EQ(analysis_.by_process().back().calls, 5U);
  EXPECT_EQ(analysis_.by_call().size(), 1U);
}

}  // namespace
}  // namespace ktraced::test
