// SPDX-License-Identifier: BSD-2-Clause
// A session that selects a few system calls records the same at their functions as others do at
// the tracepoints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "harness/client/daemon.h"
#include "harness/client/stream.h"
#include "harness/machine/bpf_view.h"
#include "harness/traces/flight.h"
#include "harness/traces/numbers.h"
#include "harness/traces/truth.h"
#include "kernel/calls/call_functions.h"
#include "schema/names.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;

// Every kernel of the matrix allows programs on functions.
bool functions_are_allowed() { return std::getenv("KTRACED_TEST_VM") != nullptr; }

json config_without_calls() { return {{"events", {{"sched", false}}}}; }

json recorder_of_calls(const std::vector<pid_t>& pids) {
  return flight_config_for(pids, {{"buffer_kb", 4096}});
}

std::string place_of_calls(Daemon& daemon, const std::string& session) {
  const json calls = daemon.call("session.show", {{"session", session}})["calls"];
  return calls.is_null() ? "" : calls["at"].get<std::string>();
}

void expect_at_functions(Daemon& daemon, const std::string& session) {
  const json shown = daemon.call("session.show", {{"session", session}});
  if (functions_are_allowed()) {
    EXPECT_EQ(place_of_calls(daemon, session), "functions") << shown;
  }
}

// Without those that would change this machine even with bad arguments.
std::vector<std::string> calls_to_try() {
  constexpr std::string_view kNative = "__x64_sys_";
  const std::set<std::string> left_out = {"acct", "kexec_load", "reboot", "sethostname", "swapoff"};
  std::vector<std::string> calls;
  for (const std::string& function : CallFunctions::possible())
    if (function.starts_with(kNative) && !left_out.contains(function.substr(kNative.size())))
      calls.push_back(function.substr(kNative.size()));
  return calls;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

// The records of calls but `other`, without times. The process waits in a call when it is traced
// first: its end is left out.
std::vector<json> records(const Trace& trace, const std::string& other) {
  std::vector<json> list;
  for (json line : trace.lines()) {
    line.erase("ts");
    line.erase("cpu");
    if (name_of(line, "nr") == other || (list.empty() && line["event"] == "sys_exit")) continue;
    list.push_back(std::move(line));
  }
  return list;
}

// What a session at functions and a session at the tracepoints have recorded of the same calls.
struct Both {
  std::vector<json> functions, tracepoints;
};

// Lets the ground truth do `words`, for two sessions that select these calls. The second one also
// selects one that has no function of its own.
Both record_both(Daemon& daemon, const std::vector<std::string>& calls, Command words) {
  WaitingTruth truth(std::move(words));
  const std::string pid = std::to_string(truth.pid());
  Stream few(daemon, {"--name", "few", "--event", "sys_enter,sys_exit", "--pid", pid, "--syscall",
                      joined(calls)});
  Stream more(daemon, {"--name", "more", "--event", "sys_enter,sys_exit", "--pid", pid, "--syscall",
                       joined(calls) + ",clone"});
  expect_at_functions(daemon, "few");
  EXPECT_EQ(place_of_calls(daemon, "more"), "tracepoints");
  truth.act();
  return {.functions = records(few.finish(), "clone"),
          .tracepoints = records(more.finish(), "clone")};
}

// A quarter of the calls for each parameter.
class CallsAtFunctions : public testing::TestWithParam<int> {};
constexpr int kParts = 4;

TEST_P(CallsAtFunctions, AreRecordedAsAtTheTracepoints) {
  const std::vector<std::string> all = calls_to_try();
  Daemon daemon(config_without_calls());
  const size_t group = kCallsAtFunctionsMax;
  for (size_t begin = static_cast<size_t>(GetParam()) * group; begin < all.size();
       begin += kParts * group) {
    const std::vector<std::string> calls(
        all.begin() + static_cast<long>(begin),
        all.begin() + static_cast<long>(std::min(begin + group, all.size())));
    Command words = {"harmless"};
    for (const std::string& call : calls)
      for (uint32_t abi = 0; abi < 2; ++abi)
        if (const auto nr = syscall_number(abi, call))
          words.push_back(std::to_string(abi) + ":" + std::to_string(*nr));
    const size_t made = words.size() - 1;
    const Both both = record_both(daemon, calls, words);
    EXPECT_GE(both.functions.size(), 2 * made) << joined(calls);
    EXPECT_EQ(both.functions, both.tracepoints) << joined(calls);
  }
}

INSTANTIATE_TEST_SUITE_P(Part, CallsAtFunctions, testing::Range(0, kParts));

TEST(CallHooks, IncludeThoseThatSeccompRefuses) {
  Daemon daemon(config_without_calls());
  const std::string access = std::to_string(*syscall_number(0, "access"));
  const Both both = record_both(daemon, {"access"},
                                {"harmless", "0:" + access, "refuse:" + access, "0:" + access});
  EXPECT_EQ(both.functions, both.tracepoints);
  ASSERT_FALSE(both.functions.empty());
  EXPECT_EQ(name_of(both.functions.back(), "ret"), "EPERM");
}

TEST(CallHooks, AreCountedExactly) {
  WaitingTruth recorded({"numbered", "1000"}), filtered({"numbered", "500"});
  Daemon daemon(recorder_of_calls({recorded.pid(), filtered.pid()}));
  expect_at_functions(daemon, "recorder");
  const auto counted = [&](const char* counter) {
    return daemon.event_status("sys_enter")[counter].get<uint64_t>() +
           daemon.event_status("sys_exit")[counter].get<uint64_t>();
  };
  recorded.act();
  EXPECT_EQ(counted("recorded") + counted("missed"), 2000U);
  if (functions_are_allowed()) {
    EXPECT_EQ(counted("filtered"), 0U) << "other calls cost nothing";
  }
  daemon.set_filter({{"pid", {1}}, {"syscall", {"getpriority"}}});
  filtered.act();
  EXPECT_EQ(counted("recorded") + counted("missed"), 2000U);
  if (functions_are_allowed()) {
    EXPECT_EQ(counted("filtered"), 1000U);
  }
}

TEST(CallHooks, MoveToTheTracepointsWhenAllAreSelected) {
  WaitingTruth first({"getppid", "100"}), second({"getppid", "100"}), third({"numbered", "100"});
  Daemon daemon(recorder_of_calls({first.pid(), second.pid(), third.pid()}));
  daemon.set_filter({{"syscall", json::array()}});
  EXPECT_EQ(place_of_calls(daemon, "recorder"), "");
  first.act();
  EXPECT_GE(daemon.event_status("sys_enter")["recorded"], 100);
  daemon.set_filter({{"syscall", {"getpriority"}}});
  const uint64_t before = daemon.event_status("sys_enter")["recorded"];
  second.act();
  third.act();
  EXPECT_EQ(daemon.event_status("sys_enter")["recorded"], before + 100);
}

TEST(CallHooks, GoOnBeingRecordedWithoutADaemon) {
  WaitingTruth during({"numbered", "300"}), after({"numbered", "200"});
  Daemon daemon(recorder_of_calls({during.pid(), after.pid()}));
  daemon.end(SIGKILL);
  during.act();
  daemon.start();
  expect_at_functions(daemon, "recorder");
  after.act();
  EXPECT_EQ(daemon.event_status("sys_enter")["recorded"], 500);
  EXPECT_EQ(daemon.event_status("sys_exit")["recorded"], 500);
}

TEST(CallHooks, LeaveNoProgramsBehind) {
  Daemon daemon(config_without_calls());
  const size_t before = bpf_objects_of(daemon.pid()).programs.size();
  for (int round = 0; round < 3; ++round) {
    Stream stream(daemon, {"--event", "sys_enter", "--syscall", "openat,unlink"});
    stream.finish();
  }
  EXPECT_TRUE(eventually([&] { return bpf_objects_of(daemon.pid()).programs.size() == before; }))
      << bpf_objects_of(daemon.pid()).programs.size() << " programs, before " << before;
}

}  // namespace
}  // namespace ktraced::live
