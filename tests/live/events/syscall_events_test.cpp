// SPDX-License-Identifier: BSD-2-Clause
// sys_enter and sys_exit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>

#include "harness/client/stream.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

const json kSyscalls = {{"events", {{"syscalls", true}}}};

// The events of `name` while one process acts; none may be lost.
std::vector<json> traced(Daemon& daemon, WaitingTruth& truth, std::string_view name,
                         json& expected) {
  daemon.set_filter({{"pid", {truth.pid()}}});
  Stream stream(daemon);
  expected = truth.act();
  Trace trace = stream.finish();
  EXPECT_EQ(trace.lost(), 0);
  return trace.events(name, truth.pid());
}

// Finds the expected calls among the traced ones; they are consecutive.
std::vector<json> matching(const std::vector<json>& events, const json& calls) {
  auto begin = std::ranges::find_if(
      events, [&](const json& event) { return number_of(event, "nr") == calls[0]["nr"]; });
  auto count = std::min<ptrdiff_t>(events.end() - begin, static_cast<ptrdiff_t>(calls.size()));
  return {begin, begin + count};
}

TEST(SysEnter, HasTheNumberTheNameAndAllSixArguments) {
  Daemon daemon(kSyscalls);
  WaitingTruth truth({"syscalls"});
  json expected;
  auto all = traced(daemon, truth, "sys_enter", expected);
  auto events = matching(all, expected["calls"]);
  ASSERT_EQ(events.size(), expected["calls"].size());
  for (size_t i = 0; i < events.size(); ++i) {
    const json& call = expected["calls"][i];
    EXPECT_EQ(number_of(events[i], "nr"), call["nr"]);
    EXPECT_EQ(name_of(events[i], "nr"), call["name"].get<std::string>());
    EXPECT_EQ(numbers_of(events[i], "args"), call["args"].get<std::vector<uint64_t>>())
        << call["name"];
    EXPECT_EQ(events[i]["comm"], expected["comm"]);
    EXPECT_EQ(events[i]["tid"], truth.pid());
  }
}

TEST(SysExit, HasTheReturnValueAndTheErrorByName) {
  Daemon daemon(kSyscalls);
  WaitingTruth truth({"syscalls"});
  json expected;
  auto all = traced(daemon, truth, "sys_exit", expected);
  auto events = matching(all, expected["calls"]);
  ASSERT_EQ(events.size(), expected["calls"].size());
  for (size_t i = 0; i < events.size(); ++i) {
    const json& call = expected["calls"][i];
    EXPECT_EQ(number_of(events[i], "ret"), call["ret"].get<long long>()) << call["name"];
    EXPECT_EQ(name_of(events[i], "nr"), call["name"].get<std::string>());
  }
  EXPECT_EQ(name_of(events[0], "ret"), "ENOSYS");
  EXPECT_EQ(name_of(events[1], "ret"), "ENOENT");
  EXPECT_EQ(name_of(events[7], "ret"), "EBADF");
}

TEST(Syscalls, EveryEnterIsFollowedByItsExitInTimeOrder) {
  Daemon daemon(kSyscalls);
  WaitingTruth truth({"syscalls"});
  daemon.set_filter({{"pid", {truth.pid()}}});
  Stream stream(daemon);
  truth.act();
  Trace trace = stream.finish();
  long long open_call = -1;
  for (const json& event : trace.lines()) {
    if (event["event"] == "sys_enter") {
      EXPECT_EQ(open_call, -1) << event;
      open_call = number_of(event, "nr");
    } else if (open_call != -1) {
      EXPECT_EQ(number_of(event, "nr"), open_call) << event;
      open_call = -1;
    }
  }
}

TEST(Syscalls, NamesCallsThroughThe32BitEntryByTheirTable) {
  Daemon daemon(kSyscalls);
  WaitingTruth truth({"ia32"});
  json expected;
  auto events = traced(daemon, truth, "sys_enter", expected);
  ASSERT_TRUE(expected["supported"].get<bool>()) << "this kernel has no 32-bit system calls";
  std::erase_if(events, [](const json& event) { return number_of(event, "abi") != 1; });
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(number_of(events[0], "nr"), expected["nr"]);
  EXPECT_EQ(name_of(events[0], "nr"), "getpid");
  auto arguments = numbers_of(events[0], "args");
  arguments.resize(expected["args"].size());
  EXPECT_EQ(arguments, expected["args"].get<std::vector<uint64_t>>());
}

TEST(Syscalls, RecordsSelectedCallsAndCountsOthersAsFiltered) {
  Daemon daemon(json{{"events", {{"syscalls", {{"only", {"getppid", "getpriority"}}}}}}});
  WaitingTruth truth({"getppid", "500"});
  daemon.set_filter({{"pid", {truth.pid()}}});
  Stream stream(daemon);
  truth.act();
  Trace trace = stream.finish();
  EXPECT_EQ(trace.events("sys_enter").size(), 500U);
  EXPECT_EQ(trace.events("sys_exit").size(), 500U);
  for (const json& event : trace.events("sys_enter")) EXPECT_EQ(name_of(event, "nr"), "getppid");
  EXPECT_GT(daemon.event_status("sys_enter")["filtered"], 0);
}

TEST(Syscalls, SelectionChangesOnReload) {
  Daemon daemon(json{{"events", {{"syscalls", {{"only", {"getpriority"}}}}}}});
  WaitingTruth truth({"getppid", "100"});
  Stream stream(daemon);
  daemon.write_config({{"events", {{"syscalls", {{"only", {"getppid"}}}}}}});
  daemon.call("reload");
  truth.act();
  Trace trace = stream.finish();
  EXPECT_EQ(trace.events("sys_enter", truth.pid()).size(), 100U);
}

TEST(Syscalls, SelectionChangesByCommand) {
  Daemon daemon(json{{"events", {{"syscalls", {{"only", {"getpriority"}}}}}}});
  WaitingTruth first({"getppid", "100"});
  WaitingTruth second({"getppid", "100"});
  Stream stream(daemon);
  daemon.ctl_ok({"filter", "set", "syscall=getppid,getpriority"});
  EXPECT_EQ(daemon.ctl_ok({"filter", "show"}), "syscall=getppid,getpriority\n");
  first.act();
  daemon.ctl_ok({"filter", "clear"});  // keeps the selection
  daemon.ctl_ok({"filter", "set", "syscall=getpriority"});
  second.act();
  Trace trace = stream.finish();
  EXPECT_EQ(trace.events("sys_enter", first.pid()).size(), 100U);
  EXPECT_EQ(trace.events("sys_enter", second.pid()).size(), 0U);

  const Finished unknown = daemon.ctl({"filter", "set", "syscall=opnat"});
  EXPECT_EQ(unknown.exit_code, 64);
  EXPECT_NE(unknown.err.find("openat"), std::string::npos) << unknown.err;
  EXPECT_EQ(daemon.ctl({"filter", "set", "exclude.syscall=openat"}).exit_code, 64);
}

}  // namespace
}  // namespace ktraced::live
