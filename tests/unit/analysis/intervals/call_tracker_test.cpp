// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/call_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kCallEndNames[] = {"returned",   "child returned", "other returned",
                                              "unseen",     "thread ended",   "not followed",
                                              "trace ended"};
constexpr std::string_view kUnknownNames[] = {"",        " unseen",        " before trace",
                                              " lost",   " config change", " gap",
                                              " filter", " evicted",       " trace end"};

// Writes down what a tracker says.
class CallLog : public CallSink {
 public:
  explicit CallLog(CallTracker& tracker) { tracker.add_sink(*this); }

  void on_begin(const Call& call, const CallRecord& at, Unknown unknown) override {
    begun.push_back(fmt::format("{} {} {}{}", at.record.tid(), call.nr, call.begin_ns,
                                kUnknownNames[static_cast<size_t>(unknown)]));
  }
  // "tid nr begin-end how, why unknown"
  void on_end(const CallInterval& interval) override {
    std::string text = fmt::format("{} ", interval.tid);
    if (interval.call != nullptr)
      text += fmt::format("{} {}", interval.call->nr, interval.call->begin_ns);
    text +=
        fmt::format("-{} {}", interval.end_ns, kCallEndNames[static_cast<size_t>(interval.end)]);
    if (interval.returned != nullptr)
      text += fmt::format(" {}={}{}", interval.returned->nr, interval.returned->ret,
                          interval.returned->is_result ? "" : " register");
    ended.push_back(text + std::string(kUnknownNames[static_cast<size_t>(interval.unknown)]));
  }
  void on_interrupt(uint64_t ts, Unknown why) override {
    interrupts.push_back(fmt::format("{}{}", ts, kUnknownNames[static_cast<size_t>(why)]));
  }
  void on_new_id(uint32_t from, uint32_t to, uint64_t ts) override {
    new_ids.push_back(fmt::format("{}: {} is {}", ts, from, to));
  }

  std::vector<std::string> begun, ended, interrupts, new_ids;
};

class CallTrackerTest : public DecoderTest {
 protected:
  static constexpr uint32_t kThread = 3352, kOtherThread = 812;
  static constexpr int32_t kReadNr = 0, kForkNr = 57, kExecveNr = 59, kExitGroupNr = 231;

  CallTrackerTest() { tracker_.add_source(schema_, names_); }
  void take(uint32_t cpu, const Bytes& record) {
    tracker_.on_record({.source = 0, .cpu = cpu}, RecordView(record.data()));
  }
  void enter(uint64_t ts, uint32_t tid, int32_t nr, uint32_t cpu = 0) {
    take(cpu, make_record(EVENT_sys_enter, ts, tid, rec_sys_enter{.nr = nr}));
  }
  void leave(uint64_t ts, uint32_t tid, int32_t nr, int64_t ret = 0, uint32_t cpu = 0) {
    take(cpu, make_record(EVENT_sys_exit, ts, tid, rec_sys_exit{.nr = nr, .ret = ret}));
  }
  void die(uint64_t ts, uint32_t tid) {
    take(0, make_record(EVENT_sched_process_exit, ts, tid,
                        rec_sched_process_exit{.pid = static_cast<int32_t>(tid)}));
  }
  void exec(uint64_t ts, uint32_t leader, uint32_t thread) {
    take(0, make_record(EVENT_sched_process_exec, ts, leader,
                        rec_sched_process_exec{.pid = static_cast<int32_t>(leader),
                                               .old_pid = static_cast<int32_t>(thread)}));
  }
  void lose(uint64_t ts, uint32_t cpu, uint16_t event = EVENT_sys_enter, uint64_t count = 3) {
    tracker_.on_loss({.ts = ts, .cpu = cpu, .event_id = event, .count = count});
  }
  void change(uint64_t ts, const char* config) {
    tracker_.on_config_change(ts, TraceConfig::of(nlohmann::json::parse(config)));
  }

  CallTracker tracker_;
  CallLog log_{tracker_};
};

TEST_F(CallTrackerTest, PairsTheEntryAndExitOfEachThread) {
  enter(100, kThread, kReadNr);
  enter(110, kOtherThread, 1, 1);
  leave(120, kThread, kReadNr, 7, 1);  // after a move to another CPU
  leave(130, kOtherThread, 1, -2);
  EXPECT_THAT(log_.begun, ElementsAre("3352 0 100", "812 1 110"));
  EXPECT_THAT(log_.ended,
              ElementsAre("3352 0 100-120 returned 0=7", "812 1 110-130 returned 1=-2"));
}

TEST_F(CallTrackerTest, ReportsAnExitWithoutEntryAsUnseen) {
  leave(100, kThread, kReadNr);
  leave(110, kThread, kReadNr);
  EXPECT_THAT(log_.ended,
              ElementsAre("3352 -100 returned 0=0 unseen", "3352 -110 returned 0=0 unseen"));
}

TEST_F(CallTrackerTest, EndsACallAtTheNextEntryOfItsThread) {
  enter(100, kThread, kReadNr);
  enter(200, kThread, 1);
  leave(300, kThread, 1);
  EXPECT_THAT(log_.ended,
              ElementsAre("3352 0 100-200 unseen unseen", "3352 1 200-300 returned 1=0"));
}

TEST_F(CallTrackerTest, DoesNotPairTheExitOfAnotherCall) {
  enter(100, kThread, kReadNr);
  leave(200, kThread, 1, 5);
  leave(300, kThread, kReadNr);
  EXPECT_THAT(log_.ended, ElementsAre("3352 0 100-200 other returned 1=5 unseen",
                                      "3352 -300 returned 0=0 unseen"));
}

TEST_F(CallTrackerTest, DoesNotPairCallsOfDifferentAbis) {
  enter(100, kThread, 3);
  take(0, make_record(EVENT_sys_exit, 200, kThread, rec_sys_exit{.nr = 3, .abi = 1}));
  EXPECT_THAT(log_.ended, ElementsAre("3352 3 100-200 other returned 3=0 unseen"));
}

TEST_F(CallTrackerTest, PairsSigreturnWithoutItsNumber) {
  enter(100, kThread, 15);
  leave(130, kThread, kSigreturnNumber, -512);
  EXPECT_THAT(log_.ended, ElementsAre("3352 15 100-130 returned -1=-512 register"));
}

TEST_F(CallTrackerTest, DistinguishesCallsThatADebuggerSkipsFromSigreturn) {
  enter(100, kThread, -1);
  leave(110, kThread, -1, -38);
  leave(120, kThread, -1, -1);  // has no beginning, as the kernel skips it before
  enter(130, kThread, kReadNr);
  leave(140, kThread, -1, -2);
  EXPECT_THAT(log_.ended,
              ElementsAre("3352 -1 100-110 returned -1=-38", "3352 -120 returned -1=-1 unseen",
                          "3352 0 130-140 other returned -1=-2 unseen"));
}

TEST_F(CallTrackerTest, TakesNoRegisterForAResultIfTheBeginningIsLeftOut) {
  enter(100, kThread, kReadNr);
  leave(110, kThread, kReadNr);
  const Bytes left_out = make_record(EVENT_sys_enter, 120, kThread, rec_sys_enter{.nr = 15});
  tracker_.skip({.source = 0, .cpu = 0}, RecordView(left_out.data()));
  leave(130, kThread, -1, -2);
  EXPECT_THAT(log_.ended, ElementsAre("3352 0 100-110 returned 0=0",
                                      "3352 -130 returned -1=-2 register unseen"));
}

TEST_F(CallTrackerTest, TakesNoRegisterForAResultIfTheBeginningMayBeMissing) {
  leave(100, kThread, -1, -2);  // began before the trace
  enter(110, kThread, kReadNr);
  leave(120, kThread, kReadNr);
  lose(130, 1);
  leave(140, kThread, -1, -2);
  enter(150, kOtherThread, 15);
  leave(160, kOtherThread, -1, -2);
  EXPECT_THAT(log_.ended,
              ElementsAre("3352 -100 returned -1=-2 register unseen", "3352 0 110-120 returned 0=0",
                          "3352 -140 returned -1=-2 register unseen",
                          "812 15 150-160 returned -1=-2 register lost"));
}

TEST_F(CallTrackerTest, TakesNoRegisterForAResultIfTheKernelSkippedBeginnings) {
  TraceConfig config;
  config.missed = {"sys_enter"};
  tracker_.on_config_change(50, config);
  enter(100, kThread, kReadNr);
  leave(110, kThread, kReadNr);
  leave(120, kThread, -1, -2);
  enter(130, kThread, kReadNr);
  leave(140, kThread, -1, -2);
  enter(150, kThread, -1);
  leave(160, kThread, -1, -38);  // this call has the number at its beginning
  EXPECT_THAT(log_.ended,
              ElementsAre("3352 0 100-110 returned 0=0", "3352 -120 returned -1=-2 register unseen",
                          "3352 0 130-140 other returned -1=-2 register unseen",
                          "3352 -1 150-160 returned -1=-38"));
}

TEST_F(CallTrackerTest, KnowsNoCallAcrossALoss) {
  enter(100, kThread, kReadNr);
  lose(110, 1);
  leave(120, kThread, kReadNr);
  enter(130, kThread, kReadNr);  // the loss is not over yet
  leave(140, kThread, kReadNr);
  enter(150, kThread, kReadNr);
  enter(160, kOtherThread, kReadNr, 1);  // now it is
  leave(170, kThread, kReadNr);
  leave(180, kOtherThread, kReadNr);
  EXPECT_THAT(log_.begun,
              ElementsAre("3352 0 100", "3352 0 130 lost", "3352 0 150 lost", "812 0 160"));
  EXPECT_THAT(log_.ended,
              ElementsAre("3352 0 100-120 returned 0=0 lost", "3352 0 130-140 returned 0=0 lost",
                          "3352 0 150-170 returned 0=0 lost", "812 0 160-180 returned 0=0"));
  EXPECT_THAT(log_.interrupts, ElementsAre("110 lost"));
  EXPECT_EQ(tracker_.lost(), 3U);
}

TEST_F(CallTrackerTest, EndsALossWithARecordThatWasLeftOut) {
  lose(110, 1);
  tracker_.see(1);
  enter(120, kThread, kReadNr);
  leave(130, kThread, kReadNr);
  EXPECT_THAT(log_.ended, ElementsAre("3352 0 120-130 returned 0=0"));
}

TEST_F(CallTrackerTest, IgnoresLossesOfOtherEvents) {
  enter(100, kThread, kReadNr);
  lose(110, 0, EVENT_kmalloc);
  leave(120, kThread, kReadNr);
  EXPECT_THAT(log_.ended, ElementsAre("3352 0 100-120 returned 0=0"));
  EXPECT_EQ(tracker_.lost(), 0U);
}

TEST_F(CallTrackerTest, KnowsNoCallWhereAHistoryBeginsInTheMiddle) {
  enter(100, kThread, kReadNr);
  lose(500, 0, EVENT_sys_exit, 0);
  leave(600, kThread, kReadNr);
  EXPECT_THAT(log_.ended, ElementsAre("3352 0 100-600 returned 0=0 lost"));
  EXPECT_EQ(tracker_.lost(), 0U);
}

TEST_F(CallTrackerTest, KnowsNoCallAcrossAGapBetweenTraces) {
  enter(100, kThread, kReadNr);
  tracker_.interrupt(200, Unknown::gap);
  enter(900, kOtherThread, kReadNr);
  leave(950, kThread, kReadNr);
  leave(960, kOtherThread, kReadNr);
  EXPECT_THAT(log_.ended,
              ElementsAre("3352 0 100-950 returned 0=0 gap", "812 0 900-960 returned 0=0"));
  EXPECT_THAT(log_.interrupts, ElementsAre("200 gap"));
}

TEST_F(CallTrackerTest, KnowsNoCallAcrossAPause) {
  change(0, R"({"state":"running"})");
  enter(100, kThread, kReadNr);
  change(150, R"({"state":"paused"})");
  change(900, R"({"state":"running"})");
  leave(950, kThread, kReadNr);
  EXPECT_THAT(log_.ended, ElementsAre("3352 0 100-950 returned 0=0 config change"));
  EXPECT_THAT(log_.interrupts, ElementsAre("150 config change", "900 config change"));
}

TEST_F(CallTrackerTest, KnowsNoCallAcrossAFilterChange) {
  change(0, R"({"filter":{"comm":["bash"]}})");
  enter(100, kThread, kReadNr);
  change(150, R"({"filter":{"comm":["nginx"]}})");
  change(160, R"({"filter":{"comm":["bash"]}})");
  leave(200, kThread, kReadNr);
  EXPECT_THAT(log_.ended, ElementsAre("3352 0 100-200 returned 0=0 config change"));
}

TEST_F(CallTrackerTest, KeepsCallsAcrossChangesOfOtherEvents) {
  change(0, R"({"events":["sys_enter","sys_exit","sched_process_exit"]})");
  enter(100, kThread, kReadNr);
  change(150, R"({"events":["sys_enter","sys_exit","sched_process_exit","kmalloc"]})");
  leave(200, kThread, kReadNr);
  EXPECT_THAT(log_.ended, ElementsAre("3352 0 100-200 returned 0=0"));
  EXPECT_THAT(log_.interrupts, IsEmpty());
}

// Of a running call it is not known whether its thread has ended meanwhile.
TEST_F(CallTrackerTest, KnowsNoCallAcrossATimeWithoutTheEndsOfThreads) {
  change(0, R"({"events":["sys_enter","sys_exit","sched_process_exit"]})");
  enter(100, kThread, kReadNr);
  change(150, R"({"events":["sys_enter","sys_exit"]})");
  tracker_.finish(900);
  EXPECT_THAT(log_.ended, ElementsAre("3352 0 100-900 trace ended config change"));
}

TEST_F(CallTrackerTest, ReportsTheReturnOfANewThread) {
  enter(100, kThread, kForkNr);
  leave(110, kOtherThread, kForkNr, 0);
  leave(120, kThread, kForkNr, 812);
  EXPECT_THAT(log_.ended, ElementsAre("812 -110 child returned 57=0 unseen",
                                      "3352 57 100-120 returned 57=812"));
}

TEST_F(CallTrackerTest, DoesNotPairTheReturnOfANewThreadWithACallOfAnotherThreadWithItsId) {
  enter(100, kOtherThread, kForkNr);  // its end is missing
  leave(300, kOtherThread, kForkNr, 0);
  EXPECT_THAT(log_.ended,
              ElementsAre("812 57 100-300 unseen unseen", "812 -300 child returned 57=0 unseen"));
}

TEST_F(CallTrackerTest, DoesNotPairCallsOfThreadsThatHadTheSameId) {
  learn(task_name(kThread, 250, 3350, "bash", 250));
  enter(100, kThread, kReadNr);  // by a thread that ended unseen
  leave(300, kThread, kReadNr);
  enter(310, kThread, kReadNr);
  leave(320, kThread, kReadNr);
  EXPECT_THAT(log_.ended, ElementsAre("3352 0 100-300 other returned 0=0 unseen",
                                      "3352 0 310-320 returned 0=0"));
}

TEST_F(CallTrackerTest, EndsCallsWithTheirThread) {
  enter(100, kThread, kExitGroupNr);
  enter(110, kOtherThread, kReadNr);
  die(150, kThread);
  die(160, kOtherThread);
  die(170, kOtherThread);
  EXPECT_THAT(log_.ended,
              ElementsAre("3352 231 100-150 thread ended", "812 0 110-160 thread ended"));
}

TEST_F(CallTrackerTest, KnowsNoEndOfAThreadAfterALoss) {
  enter(100, kThread, kReadNr);
  lose(110, 0);
  die(150, kThread);
  EXPECT_THAT(log_.ended, ElementsAre("3352 0 100-150 thread ended lost"));
}

TEST_F(CallTrackerTest, ContinuesExecveUnderTheIdOfTheLeader) {
  enter(100, kThread, kReadNr);
  enter(110, kOtherThread, kExecveNr);
  exec(200, kThread, kOtherThread);
  leave(300, kThread, kExecveNr);
  EXPECT_THAT(log_.new_ids, ElementsAre("200: 812 is 3352"));
  EXPECT_THAT(log_.ended,
              ElementsAre("3352 0 100-200 thread ended", "3352 59 110-300 returned 59=0"));
}

TEST_F(CallTrackerTest, ContinuesExecveOfALeader) {
  enter(110, kThread, kExecveNr);
  exec(200, kThread, kThread);
  leave(300, kThread, kExecveNr);
  EXPECT_THAT(log_.new_ids, IsEmpty());
  EXPECT_THAT(log_.ended, ElementsAre("3352 59 110-300 returned 59=0"));
}

TEST_F(CallTrackerTest, EndsRunningCallsWithTheTrace) {
  enter(100, kThread, kReadNr);
  enter(110, kOtherThread, kReadNr);
  enter(120, 4000, kExitGroupNr);
  leave(130, kOtherThread, kReadNr);
  tracker_.finish(900);
  tracker_.finish(901);
  EXPECT_THAT(log_.ended, ElementsAre("812 0 110-130 returned 0=0", "3352 0 100-900 trace ended",
                                      "4000 231 120-900 trace ended"));
}

TEST_F(CallTrackerTest, KnowsNoRunningCallThatBeganDuringALoss) {
  lose(90, 1);
  enter(100, kThread, kReadNr);
  tracker_.finish(900);
  EXPECT_THAT(log_.ended, ElementsAre("3352 0 100-900 trace ended lost"));
}

TEST_F(CallTrackerTest, EvictsThreadsInNoCallFirst) {
  CallTracker small(4);
  CallLog log(small);
  small.add_source(schema_, names_);
  auto record = [&](uint16_t id, uint64_t ts, uint32_t tid, auto body) {
    const Bytes bytes = make_record(id, ts, tid, body);
    small.on_record({.source = 0, .cpu = 0}, RecordView(bytes.data()));
  };
  for (uint32_t i = 1; i <= 4; ++i) record(EVENT_sys_enter, i, i, rec_sys_enter{});
  for (uint32_t i = 1; i <= 2; ++i) record(EVENT_sys_exit, 4 + i, i, rec_sys_exit{});
  log.ended.clear();
  for (uint32_t i = 7; i <= 8; ++i) record(EVENT_sys_enter, i, i, rec_sys_enter{});
  EXPECT_THAT(log.ended, IsEmpty());
  record(EVENT_sys_enter, 9, 9, rec_sys_enter{});
  EXPECT_THAT(log.ended,
              UnorderedElementsAre("3 0 3-9 not followed evicted", "4 0 4-9 not followed evicted"));
  record(EVENT_sys_exit, 10, 9, rec_sys_exit{});
  EXPECT_EQ(log.ended.back(), "9 0 9-10 returned 0=0");
}

}  // namespace
}  // namespace ktraced::test
