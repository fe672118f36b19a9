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

void expect_entries(const std::vector<json>& all, const json& expected, pid_t tid) {
  const auto events = matching(all, expected["calls"]);
  ASSERT_EQ(events.size(), expected["calls"].size());
  for (size_t i = 0; i < events.size(); ++i) {
    const json& call = expected["calls"][i];
    EXPECT_EQ(number_of(events[i], "nr"), call["nr"]);
    EXPECT_EQ(name_of(events[i], "nr"), call["name"].get<std::string>());
    EXPECT_EQ(numbers_of(events[i], "args"), call["args"].get<std::vector<uint64_t>>())
        << call["name"];
    EXPECT_EQ(events[i]["comm"], expected["comm"]);
    EXPECT_EQ(events[i]["tid"], tid);
  }
}

void expect_returns(const std::vector<json>& all, const json& expected) {
  const auto events = matching(all, expected["calls"]);
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

// Every entry is followed by its return.
void expect_pairs(const Trace& trace) {
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

TEST(Syscalls, HaveTheirNamesArgumentsResultsAndOrder) {
  WaitingTruth truth({"syscalls"});
  Daemon daemon(for_processes({truth.pid()}, kSyscalls));
  Stream stream(daemon);
  const json expected = truth.act();
  const Trace trace = stream.finish();
  EXPECT_EQ(trace.lost(), 0);
  expect_entries(trace.events("sys_enter", truth.pid()), expected, truth.pid());
  expect_returns(trace.events("sys_exit", truth.pid()), expected);
  expect_pairs(trace);
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

// The calls by which a process executes programs.
std::vector<json> execs_in(const Trace& trace, std::string_view event, const json& process) {
  std::vector<json> events = trace.events(event, process["pid"]);
  std::erase_if(events, [](const json& each) {
    const std::string name = name_of(each, "nr");
    return name != "execve" && name != "execveat";
  });
  return events;
}

void expect_return_of(const json& child, const std::vector<json>& events) {
  ASSERT_EQ(events.size(), 1U) << child;
  const json& event = events[0];
  EXPECT_EQ(number_of(event, "nr"), child["nr"]) << child << event;
  EXPECT_EQ(number_of(event, "abi"), child["abi"]) << child << event;
  if (child["failed"] == true)
    EXPECT_EQ(name_of(event, "ret"), "ENOENT") << child << event;
  else if (child["signal"] != 0)
    EXPECT_LT(number_of(event, "ret"), 0) << child << event;
  else
    EXPECT_EQ(number_of(event, "ret"), 0) << child << event;
}

// The kernel gives a program that begins the number of execve of its own ABI.
TEST(Syscalls, ReturnFromExecAsTheCallThatBegan) {
  const TempDir directory;
  Daemon daemon(json{{"events", {{"sched", false}}}});
  WaitingTruth truth({"exec-calls", directory.path()});
  const std::string pid = std::to_string(truth.pid());
  Stream pairs(daemon, {"--name", "pairs", "--event", "sys_enter,sys_exit", "--follow", pid});
  Stream whole(daemon, {"--name", "whole", "--event", "sys_completed", "--follow", pid});
  Stream selected(daemon, {"--name", "selected", "--event", "sys_enter,sys_exit", "--syscall",
                           "execveat", "--follow", pid});
  const json expected = truth.act();
  const Trace of_selected = selected.finish(), of_whole = whole.finish(), of_pairs = pairs.finish();
  ASSERT_EQ(expected["children"].size(), 24U);
  for (const json& child : expected["children"]) {
    const auto entries = execs_in(of_pairs, "sys_enter", child);
    ASSERT_EQ(entries.size(), 1U) << child;
    EXPECT_EQ(entries[0]["tid"], child["caller"]);
    EXPECT_EQ(number_of(entries[0], "nr"), child["nr"]);
    EXPECT_EQ(number_of(entries[0], "abi"), child["abi"]);
    expect_return_of(child, execs_in(of_pairs, "sys_exit", child));
    const auto completed = execs_in(of_whole, "sys_completed", child);
    expect_return_of(child, completed);
    const bool succeeded = child["failed"] == false && child["signal"] == 0;
    EXPECT_EQ(number_of(completed.at(0), "args_known"), succeeded ? 0 : 1) << child;
    if (succeeded) {
      EXPECT_GT(number_of(completed[0], "duration"), 0) << child;
    }
    const size_t is_execveat = name_of(entries[0], "nr") == "execveat" ? 1 : 0;
    EXPECT_EQ(execs_in(of_selected, "sys_enter", child).size(), is_execveat) << child;
    EXPECT_EQ(execs_in(of_selected, "sys_exit", child).size(), is_execveat) << child;
  }
}

TEST(Syscalls, ReturnFromARefusedExecAsThatCallAndFromTheNextAsItself) {
  const TempDir directory;
  Daemon daemon(json{{"events", {{"sched", false}}}});
  WaitingTruth truth({"exec-refused", directory.path()});
  Stream stream(daemon, {"--event", "sys_exit", "--pid", std::to_string(truth.pid())});
  truth.act();
  const Trace trace = stream.finish();
  const auto returns = execs_in(trace, "sys_exit", {{"pid", truth.pid()}});
  ASSERT_EQ(returns.size(), 2U);
  EXPECT_EQ(name_of(returns[0], "nr"), "execveat");
  EXPECT_EQ(name_of(returns[0], "ret"), "EPERM");
  EXPECT_EQ(name_of(returns[1], "nr"), "execve");
  EXPECT_EQ(name_of(returns[1], "ret"), "ENOENT");
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

TEST(Syscalls, SelectionChangesOnReloadAndByCommand) {
  WaitingTruth reloaded({"getppid", "100"}), unset({"getppid", "100"}), set({"getppid", "100"});
  const auto only = [&](const char* call) {
    return for_processes({reloaded.pid(), unset.pid(), set.pid()},
                         {{"events", {{"syscalls", {{"only", {call}}}}}}});
  };
  Daemon daemon(only("getpriority"));
  Stream stream(daemon);
  daemon.write_config(only("getppid"));
  daemon.call("reload");
  reloaded.act();
  daemon.ctl_ok({"filter", "set", "syscall=getpriority"});
  unset.act();
  daemon.ctl_ok({"filter", "set", "syscall=getppid,getpriority"});
  EXPECT_THAT(daemon.ctl_ok({"filter", "show"}),
              testing::EndsWith("\nsyscall=getppid,getpriority\n"));
  set.act();
  const Trace trace = stream.finish();
  EXPECT_EQ(trace.events("sys_enter", reloaded.pid()).size(), 100U);
  EXPECT_EQ(trace.events("sys_enter", set.pid()).size(), 100U);
  EXPECT_EQ(trace.events("sys_enter", unset.pid()).size(), 0U);
  EXPECT_EQ(daemon.ctl({"filter", "set", "exclude.syscall=openat"}).exit_code, 64);
}

}  // namespace
}  // namespace ktraced::live
