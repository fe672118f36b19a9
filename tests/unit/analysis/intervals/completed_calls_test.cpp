// SPDX-License-Identifier: BSD-2-Clause
// Calls that are recorded as one record when they return.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/intervals/call_paths.h"
#include "analysis/intervals/call_tracker.h"
#include "analysis/reports/syscall_analysis.h"
#include "schema/names.h"
#include "unit/support/call_string.h"
#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CompletedLog : public CallSink {
 public:
  explicit CompletedLog(CallTracker& tracker) { tracker.add_sink(*this); }

  void on_begin(const Call& call, const CallRecord& at, Unknown unknown) override {
    EXPECT_EQ(unknown, Unknown::none);
    begun.push_back(fmt::format("{} {} {}", at.record.tid(), call.nr, call.begin_ns));
  }
  // "tid nr begin-end =ret"; without what is unknown
  void on_end(const CallInterval& interval) override {
    std::string text = fmt::format("{}", interval.tid);
    if (interval.call != nullptr) {
      text += fmt::format(" {} {}", interval.call->nr, interval.call->begin_ns);
      if (!interval.call->args_known) text += " (?)";
    }
    text += fmt::format("-{}", interval.end_ns);
    if (interval.returned != nullptr) text += fmt::format(" ={}", interval.returned->ret);
    if (interval.end == CallEnd::child_returned) text += " in child";
    if (interval.end != CallEnd::returned && interval.end != CallEnd::child_returned)
      text += " no return";
    ended.push_back(text + (interval.known() ? "" : " unknown"));
  }
  std::vector<std::string> begun, ended;
};

class CompletedCalls : public DecoderTest {
 protected:
  static constexpr uint32_t kThread = 3352, kOtherThread = 812;
  static constexpr int32_t kReadNr = 0, kForkNr = 57, kExecveNr = 59, kOpenatNr = 257;
  static constexpr s64 kUnknownDuration = -1;
};

class CompletedCallsTest : public CompletedCalls {
 protected:
  CompletedCallsTest() { tracker_.add_source(schema_, names_); }
  void take(const Bytes& record) {
    tracker_.on_record({.source = 0, .cpu = 0}, RecordView(record.data()));
  }
  void complete(uint64_t ts, s64 duration, int32_t nr, int64_t ret = 0, uint32_t tid = kThread) {
    take(
        make_record(EVENT_sys_completed, ts, tid,
                    rec_sys_completed{
                        .nr = nr, .args_known = 1, .args = {7}, .ret = ret, .duration = duration}));
  }
  void complete_without_args(uint64_t ts, s64 duration, int32_t nr, int64_t ret = 0) {
    take(make_record(EVENT_sys_completed, ts, kThread,
                     rec_sys_completed{.nr = nr, .ret = ret, .duration = duration}));
  }
  void enter(uint64_t ts, int32_t nr) {
    take(make_record(EVENT_sys_enter, ts, kThread, rec_sys_enter{.nr = nr, .args = {7}}));
  }
  void leave(uint64_t ts, int32_t nr, int64_t ret = 0) {
    take(make_record(EVENT_sys_exit, ts, kThread, rec_sys_exit{.nr = nr, .ret = ret}));
  }

  CallTracker tracker_;
  CompletedLog log_{tracker_};
};

TEST_F(CompletedCallsTest, BeginAndEndWithTheirRecord) {
  complete(400, 300, kReadNr, 12);
  complete(500, 350, kReadNr, -9, kOtherThread);
  EXPECT_THAT(log_.begun, ElementsAre("3352 0 100", "812 0 150"));
  EXPECT_THAT(log_.ended, ElementsAre("3352 0 100-400 =12", "812 0 150-500 =-9"));
}

TEST_F(CompletedCallsTest, WithUnknownDurationHaveNoBeginning) {
  complete(400, kUnknownDuration, kReadNr, 12);
  complete(500, 501, kReadNr, 13);
  EXPECT_THAT(log_.begun, IsEmpty());
  EXPECT_THAT(log_.ended, ElementsAre("3352-400 =12 unknown", "3352-500 =13 unknown"));
}

TEST_F(CompletedCallsTest, OfNewThreadsAreNoCallsOfTheirOwn) {
  complete(400, 100, kForkNr, 4000);
  complete(410, kUnknownDuration, kForkNr, 0, 4000);
  EXPECT_THAT(log_.ended, ElementsAre("3352 57 300-400 =4000", "4000-410 =0 in child unknown"));
}

TEST_F(CompletedCallsTest, StayKnownWhenOtherEventsAreLost) {
  tracker_.on_loss({.ts = 350, .cpu = 1, .event_id = EVENT_sys_completed, .count = 3});
  complete(400, 100, kReadNr, 12);
  EXPECT_THAT(log_.ended, ElementsAre("3352 0 300-400 =12"));
  EXPECT_EQ(tracker_.lost(), 3U);
}

TEST_F(CompletedCallsTest, MarkArgumentsThatAreGone) {
  complete_without_args(400, 100, kExecveNr);
  complete_without_args(500, 50, -1, 4711);  // sigreturn has replaced its number
  EXPECT_THAT(log_.ended, ElementsAre("3352 59 300 (?)-400 =0",
                                      fmt::format("3352 {} 450 (?)-500 =4711",
                                                  syscall_number(0, "rt_sigreturn").value_or(0))));
}

TEST_F(CompletedCallsTest, ThatAlsoHaveBothOtherRecordsAreGivenOnce) {
  for (const bool exit_first : {true, false}) {
    enter(100, kReadNr);
    if (exit_first) leave(199, kReadNr, 5);
    complete(200, 99, kReadNr, 5);
    if (!exit_first) leave(201, kReadNr, 5);
  }
  EXPECT_THAT(log_.ended, ElementsAre("3352 0 100-199 =5", "3352 0 100-200 =5"));
}

TEST_F(CompletedCallsTest, OfSigreturnThatAlsoHaveBothOtherRecordsAreGivenOnce) {
  const int32_t sigreturn = syscall_number(0, "rt_sigreturn").value_or(0);
  enter(100, sigreturn);
  complete_without_args(200, 99, -1, 5);
  leave(201, -1, 5);
  EXPECT_THAT(log_.ended, ElementsAre(fmt::format("3352 {} 100-200 =5", sigreturn)));
}

TEST_F(CompletedCallsTest, ThatAlsoHaveOneOtherRecordAreGivenOnce) {
  leave(199, kReadNr, 5);
  complete(200, kUnknownDuration, kReadNr, 5);
  complete(300, 20, kReadNr, 6);
  leave(301, kReadNr, 6);
  enter(400, kReadNr);
  complete(500, 99, kReadNr, 7);
  EXPECT_THAT(log_.ended,
              ElementsAre("3352-199 =5 unknown", "3352 0 280-300 =6", "3352 0 400-500 =7"));
}

TEST_F(CompletedCallsTest, AreDistinctWhenTheyFollowOneAnother) {
  leave(100, kReadNr, 5);  // of a call before the trace
  complete(200, 50, kReadNr, 5);
  complete(300, 50, kReadNr, 5);
  EXPECT_THAT(log_.ended,
              ElementsAre("3352-100 =5 unknown", "3352 0 150-200 =5", "3352 0 250-300 =5"));
}

TEST_F(CompletedCallsTest, MayBeginAtAnyTimeBeforeTheirRecord) {
  EXPECT_FALSE(tracker_.is_open(100));
  complete(200, 50, kReadNr);
  EXPECT_TRUE(tracker_.is_open(100)) << "a call that began earlier may return later";
}

TEST_F(CompletedCallsTest, HaveTheSameTotalsAsBothRecords) {
  CallTracker pairs;
  SyscallAnalysis of_pairs(pairs, 3), of_completed(tracker_, 3);
  pairs.add_source(schema_, names_);
  uint64_t ts = 1000;
  for (const int64_t ret : {-2, 3, -13, 0}) {
    const Bytes begin = make_record(EVENT_sys_enter, ts, kThread, rec_sys_enter{.nr = kOpenatNr});
    ts += 20 + 10 * static_cast<uint64_t>(ret + 13);
    const Bytes end =
        make_record(EVENT_sys_exit, ts, kThread, rec_sys_exit{.nr = kOpenatNr, .ret = ret});
    for (const Bytes& record : {begin, end})
      pairs.on_record({.source = 0, .cpu = 0}, RecordView(record.data()));
    complete(ts, 20 + 10 * (ret + 13), kOpenatNr, ret);
  }
  ASSERT_EQ(of_completed.by_call().size(), 1U);
  const SyscallRow &one = of_completed.by_call()[0], &other = of_pairs.by_call()[0];
  EXPECT_EQ(one.calls, 4U);
  EXPECT_EQ(one.calls, other.calls);
  EXPECT_EQ(one.errors, other.errors);
  EXPECT_EQ(one.ns.sum(), other.ns.sum());
  EXPECT_EQ(one.ns.max(), other.ns.max());
  EXPECT_EQ(of_completed.running(), 0U);
  ASSERT_EQ(of_completed.slowest().size(), 3U);
  EXPECT_EQ(of_completed.slowest()[0].begin_ns, of_pairs.slowest()[0].begin_ns);
}

class CompletedPathLog : public PathCallSink {
 public:
  void on_path_call(const PathCall& call) override {
    paths.push_back(fmt::format("{}={} {}-{} {}", call.nr, call.ret, call.begin_ns, call.end_ns,
                                call.paths.front().text));
  }
  std::vector<std::string> paths;
};

class CompletedPathsTest : public CompletedCalls {
 protected:
  static constexpr uint64_t kPath = 0x7000;
  CompletedPathsTest() { paths_.add_source(schema_, names_); }
  void take(const Bytes& record) {
    paths_.on_record({.source = 0, .cpu = 0}, RecordView(record.data()));
  }
  void string(uint16_t event, uint64_t ts, int32_t nr, u32 arg, std::string_view text) {
    const u8 unreadable = text.empty() ? 1 : 0;
    take(call_string(event, ts, kThread,
                     {.pointer = kPath, .nr = nr, .arg = arg, .unreadable = unreadable}, text));
  }
  void complete(uint64_t ts, rec_sys_completed call) {
    call.duration = 50;
    take(make_record(EVENT_sys_completed, ts, kThread, call));
  }
  const std::vector<std::string>& paths() {
    paths_.finish(1000);
    return log_.paths;
  }

  CompletedPathLog log_;
  CallPaths paths_{log_};
};

TEST_F(CompletedPathsTest, JoinStringsThatCameBefore) {
  string(EVENT_sys_enter_string, 151, kOpenatNr, 1, "/etc/hosts");
  complete(200, {.nr = kOpenatNr, .args_known = 1, .args = {5, kPath}, .ret = 3});
  EXPECT_THAT(paths(), ElementsAre("257=3 150-200 /etc/hosts"));
  EXPECT_EQ(paths_.gaps().call_unseen, 0U);
}

TEST_F(CompletedPathsTest, JoinStringsThatWereReadAsTheCallReturned) {
  string(EVENT_sys_enter_string, 151, kOpenatNr, 1, "");
  string(EVENT_sys_exit_string, 199, kOpenatNr, 1, "/etc/hosts");
  complete(200, {.nr = kOpenatNr, .args_known = 1, .args = {5, kPath}, .ret = 3});
  string(EVENT_sys_enter_string, 251, kOpenatNr, 1, "");
  complete(300, {.nr = kOpenatNr, .args_known = 1, .args = {5, kPath}, .ret = 4});
  string(EVENT_sys_exit_string, 301, kOpenatNr, 1, "/etc/passwd");
  EXPECT_THAT(paths(), ElementsAre("257=3 150-200 /etc/hosts", "257=4 250-300 /etc/passwd"));
}

TEST_F(CompletedPathsTest, JoinThePathOfExecveWhoseArgumentsAreGone) {
  string(EVENT_sys_enter_string, 151, kExecveNr, 0, "/bin/true");
  complete(200, {.nr = kExecveNr});
  EXPECT_THAT(paths(), ElementsAre("59=0 150-200 /bin/true"));
}

TEST_F(CompletedPathsTest, DoNotJoinStringsOfACallWhoseRecordWasLost) {
  string(EVENT_sys_enter_string, 151, kOpenatNr, 1, "/etc/hosts");
  paths_.on_loss({.ts = 200, .cpu = 0, .event_id = EVENT_sys_completed, .count = 1});
  complete(300, {.nr = kOpenatNr, .args_known = 1, .args = {5, kPath}, .ret = 3});
  EXPECT_THAT(paths(), IsEmpty());
  EXPECT_EQ(paths_.gaps().call_unseen, 1U);
}

}  // namespace
}  // namespace ktraced::test
