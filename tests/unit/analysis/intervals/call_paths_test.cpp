// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/call_paths.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/support/call_string.h"
#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PathCallLog : public PathCallSink {
 public:
  // "nr=ret begin-end path, path"
  void on_path_call(const PathCall& call) override {
    std::string text = fmt::format("{}={} {}-{}{}", call.nr, call.ret, call.begin_ns, call.end_ns,
                                   call.known() ? "" : " unknown");
    for (const CallPath& path : call.paths) {
      text += fmt::format(" {}{}{}", path.unreadable ? "unreadable" : path.text,
                          path.cut ? "..." : "", path.names_nothing() ? " nothing" : "");
      if (path.directory) text += fmt::format(" at {}", *path.directory);
    }
    calls.push_back(text);
  }
  std::vector<std::string> calls;
};

class CallPathsTest : public DecoderTest {
 protected:
  static constexpr uint32_t kThread = 3352, kOtherThread = 812;
  static constexpr int32_t kOpenatCall = 257, kRenameCall = 82, kConnectCall = 42, kReadCall = 0;
  static constexpr int32_t kOpenCall = 2;
  static constexpr uint64_t kPath = 0x7000, kOtherPath = 0x8000;
  static constexpr uint64_t kCwd = static_cast<uint64_t>(-100);

  CallPathsTest() { paths_.add_source(schema_, names_); }
  void take(const Bytes& record, uint32_t cpu = 0) {
    paths_.on_record({.source = 0, .cpu = cpu}, RecordView(record.data()));
  }
  void enter(uint64_t ts, int32_t nr, std::array<uint64_t, 2> args, uint32_t tid = kThread) {
    take(
        make_record(EVENT_sys_enter, ts, tid, rec_sys_enter{.nr = nr, .args = {args[0], args[1]}}));
  }
  void exit(uint64_t ts, int32_t nr, int64_t ret = 0, uint32_t tid = kThread) {
    take(make_record(EVENT_sys_exit, ts, tid, rec_sys_exit{.nr = nr, .ret = ret}));
  }
  void string(uint64_t ts, int32_t nr, u32 arg, uint64_t pointer, std::string_view text,
              bool unreadable = false, uint16_t event = EVENT_sys_enter_string,
              uint32_t tid = kThread) {
    take(call_string(
        event, ts, tid,
        {.pointer = pointer, .nr = nr, .arg = arg, .unreadable = unreadable ? u8{1} : u8{0}},
        text));
  }
  void lose(uint32_t event) { paths_.on_loss({.ts = 1, .cpu = 0, .event_id = event, .count = 2}); }
  const std::vector<std::string>& calls() {
    paths_.finish(1000);
    return log_.calls;
  }

  PathCallLog log_;
  CallPaths paths_{log_};
};

TEST_F(CallPathsTest, JoinsAStringWithItsCall) {
  enter(100, kOpenatCall, {kCwd, kPath});
  string(101, kOpenatCall, 1, kPath, "/etc/hosts");
  exit(110, kOpenatCall, -2);
  EXPECT_THAT(calls(), ElementsAre("257=-2 100-110 /etc/hosts at -100"));
}

TEST_F(CallPathsTest, JoinsAStringThatCameBeforeItsCall) {
  string(99, kOpenatCall, 1, kPath, "a");
  enter(100, kOpenatCall, {5, kPath});
  exit(110, kOpenatCall, 3);
  EXPECT_THAT(calls(), ElementsAre("257=3 100-110 a at 5"));
}

TEST_F(CallPathsTest, HasBothPathsOfACall) {
  enter(100, kRenameCall, {kPath, kOtherPath});
  string(101, kRenameCall, 0, kPath, "/a");
  string(102, kRenameCall, 1, kOtherPath, "/b");
  exit(110, kRenameCall);
  EXPECT_THAT(calls(), ElementsAre("82=0 100-110 /a /b"));
}

TEST_F(CallPathsTest, TakesWhatCouldOnlyBeReadAtTheReturn) {
  enter(100, kOpenCall, {kPath, 0});
  string(101, kOpenCall, 0, kPath, "", true);
  exit(110, kOpenCall, 3);
  string(111, kOpenCall, 0, kPath, "/late", false, EVENT_sys_exit_string);
  enter(200, kOpenCall, {kPath, 0});
  string(201, kOpenCall, 0, kPath, "", true);
  string(209, kOpenCall, 0, kPath, "/earlier", false, EVENT_sys_exit_string);
  exit(210, kOpenCall, 4);
  enter(300, kOpenCall, {kPath, 0});
  string(301, kOpenCall, 0, kPath, "", true);
  exit(310, kOpenCall, -14);
  EXPECT_THAT(calls(),
              ElementsAre("2=3 100-110 /late", "2=4 200-210 /earlier", "2=-14 300-310 unreadable"));
}

TEST_F(CallPathsTest, TakesOnlyAddressesOfSocketsThatAreFiles) {
  constexpr std::string_view kTexts[] = {"/run/a.sock", "127.0.0.1:80", "@name"};
  for (const std::string_view text : kTexts) {
    enter(100, kConnectCall, {3, kPath});
    string(101, kConnectCall, 1, kPath, text);
    exit(110, kConnectCall, -2);
  }
  enter(200, kConnectCall, {3, kPath});
  string(201, kConnectCall, 1, kPath, "", true);
  exit(210, kConnectCall, -14);
  EXPECT_THAT(calls(), ElementsAre("42=-2 100-110 /run/a.sock"));
  EXPECT_EQ(paths_.gaps().path_unseen + paths_.gaps().call_unseen, 0U);
}

TEST_F(CallPathsTest, KnowsPathsThatNameNothing) {
  enter(100, kOpenatCall, {5, kPath});
  string(101, kOpenatCall, 1, kPath, "");
  exit(110, kOpenatCall);
  enter(200, kOpenatCall, {kCwd, kPath});
  string(201, kOpenatCall, 1, kPath, "");
  exit(210, kOpenatCall, -2);
  enter(300, kOpenatCall, {5, 0});
  string(301, kOpenatCall, 1, 0, "", true);
  exit(310, kOpenatCall);
  EXPECT_THAT(calls(), ElementsAre("257=0 100-110  nothing at 5", "257=-2 200-210  at -100",
                                   "257=0 300-310 unreadable nothing at 5"));
}

TEST_F(CallPathsTest, DoesNotJoinStringsOfOtherCallsOrThreads) {
  string(90, kOpenCall, 0, kPath, "/of another call");
  enter(100, kOpenCall, {kOtherPath, 0});
  string(101, kOpenCall, 0, kOtherPath, "/other thread", false, EVENT_sys_enter_string,
         kOtherThread);
  string(102, kRenameCall, 0, kOtherPath, "/other number");
  exit(110, kOpenCall, 3);
  EXPECT_THAT(calls(), IsEmpty());
  EXPECT_EQ(paths_.gaps().call_unseen, 3U);
  EXPECT_EQ(paths_.gaps().path_unseen, 1U);
}

TEST_F(CallPathsTest, DoesNotJoinAcrossALoss) {
  string(90, kOpenCall, 0, kPath, "/a");
  lose(EVENT_sys_enter_string);
  enter(100, kOpenCall, {kPath, 0});
  exit(110, kOpenCall, 3);
  EXPECT_THAT(calls(), IsEmpty());
  EXPECT_EQ(paths_.gaps().call_unseen, 1U);
  EXPECT_EQ(paths_.gaps().path_unseen, 1U);
  EXPECT_EQ(paths_.lost(), 2U);
}

TEST_F(CallPathsTest, DoesNotKnowCallsDuringALoss) {
  enter(100, kOpenCall, {kPath, 0});
  string(101, kOpenCall, 0, kPath, "/a");
  lose(EVENT_sys_exit);
  exit(110, kOpenCall, 3);
  EXPECT_THAT(calls(), ElementsAre("2=3 100-110 unknown /a"));
}

TEST_F(CallPathsTest, DoesNotKnowCallsDuringAConfigChange) {
  const auto config = [](bool strings) {
    nlohmann::json events = {"sys_enter", "sys_exit"};
    if (strings) events.push_back("sys_enter_string");
    return TraceConfig::of({{"state", "running"}, {"events", events}});
  };
  paths_.on_config_change(1, config(true));
  string(90, kOpenCall, 0, kPath, "/a");
  paths_.on_config_change(95, config(false));
  enter(100, kOpenCall, {kPath, 0});
  exit(110, kOpenCall, 3);
  EXPECT_THAT(calls(), IsEmpty());
  EXPECT_EQ(paths_.gaps().path_unseen, 1U);
}

TEST_F(CallPathsTest, CountsCallsWithoutABeginningOrAnEnd) {
  exit(90, kOpenCall, 3);
  enter(100, kOpenCall, {kPath, 0});
  string(101, kOpenCall, 0, kPath, "/unseen");
  enter(120, kOpenCall, {kPath, 0});
  string(121, kOpenCall, 0, kPath, "/killed");
  take(make_record(EVENT_sched_process_exit, 125, kThread, rec_sched_process_exit{}));
  enter(130, kOpenCall, {kPath, 0});
  string(131, kOpenCall, 0, kPath, "/running");
  EXPECT_THAT(calls(), IsEmpty());
  const PathCallGaps& gaps = paths_.gaps();
  EXPECT_EQ(gaps.begun_before, 1U);
  EXPECT_EQ(gaps.end_unseen, 1U);
  EXPECT_EQ(gaps.killed, 1U);
  EXPECT_EQ(gaps.running, 1U);
}

// execve() in a thread that is not the leader.
TEST_F(CallPathsTest, FollowsAThreadThatGetsANewId) {
  constexpr int32_t kExecveCall = 59;
  enter(100, kExecveCall, {kPath, 0});
  string(101, kExecveCall, 0, kPath, "/bin/sh");
  take(make_record(EVENT_sched_process_exec, 105, kOtherThread,
                   rec_sched_process_exec{.old_pid = kThread}));
  exit(110, kExecveCall, 0, kOtherThread);
  EXPECT_THAT(calls(), ElementsAre("59=0 100-110 /bin/sh"));
}

TEST_F(CallPathsTest, StaysBoundedWhenStringsHaveNoCalls) {
  PathCallLog log;
  CallPaths paths(log, 4);
  paths.add_source(schema_, names_);
  for (uint32_t tid = 1; tid <= 1000; ++tid) {
    const Bytes early =
        call_string(EVENT_sys_enter_string, tid, tid, {.pointer = 1, .nr = 2}, "/a");
    paths.on_record({.source = 0, .cpu = 0}, RecordView(early.data()));
    const Bytes entered =
        make_record(EVENT_sys_enter, tid, tid + 5000, rec_sys_enter{.nr = 2, .args = {1}});
    paths.on_record({.source = 0, .cpu = 0}, RecordView(entered.data()));
  }
  paths.finish(2000);
  EXPECT_EQ(paths.gaps().call_unseen, 1000U);
  EXPECT_THAT(log.calls, IsEmpty());
}

// Arguments and numbers as no kernel writes them.
TEST_F(CallPathsTest, IgnoresImpossibleStrings) {
  for (const u32 arg : {5U, 6U, 64U, ~0U}) string(100, kOpenCall, arg, kPath, "/a");
  for (const int32_t nr : {-1, 1 << 20, INT32_MAX}) string(100, nr, 0, kPath, "/a");
  for (const u32 abi : {3U, 4U, ~0U})
    take(call_string(EVENT_sys_enter_string, 100, kThread,
                     {.pointer = kPath, .nr = kOpenCall, .abi = abi}, "/a"));
  EXPECT_THAT(calls(), IsEmpty());
  EXPECT_EQ(paths_.gaps().call_unseen, 0U);
}

}  // namespace
}  // namespace ktraced::test
