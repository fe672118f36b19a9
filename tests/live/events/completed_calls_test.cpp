// SPDX-License-Identifier: BSD-2-Clause
// sys_completed: system calls as one record when they return.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>

#include "harness/client/show.h"
#include "harness/client/stream.h"
#include "harness/machine/bpf_view.h"
#include "harness/machine/scale.h"
#include "harness/machine/temp_dir.h"
#include "harness/traces/flight.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;
using testing::Not;

json config_of_calls(json syscalls = json::object()) {
  syscalls["record"] = "completed";
  return {{"events", {{"syscalls", std::move(syscalls)}}}};
}

// What both forms say of the calls of one process, whose threads return one after another.
struct BothForms {
  std::vector<json> entries, exits, completed;
  json expected;
};

BothForms record_both_forms(const Command& words) {
  Daemon daemon(json{{"events", {{"sched", false}}}});
  WaitingTruth truth(words);
  const std::string pid = std::to_string(truth.pid());
  Stream pairs(daemon, {"--name", "pairs", "--event", "sys_enter,sys_exit", "--pid", pid});
  Stream one(daemon, {"--name", "one", "--event", "sys_completed", "--pid", pid});
  BothForms both;
  both.expected = truth.act();
  const Trace of_one = one.finish(), of_pairs = pairs.finish();
  EXPECT_EQ(of_one.lost() + of_pairs.lost(), 0);
  both.completed = of_one.events("sys_completed", truth.pid());
  both.entries = of_pairs.events("sys_enter", truth.pid());
  both.exits = of_pairs.events("sys_exit", truth.pid());
  return both;
}

long long duration_of(const json& event) { return number_of(event, "duration"); }

void expect_known_calls(const BothForms& both) {
  const json& calls = both.expected["calls"];
  const auto first = std::ranges::find_if(
      both.completed, [&](const json& event) { return number_of(event, "nr") == calls[0]["nr"]; });
  ASSERT_GE(static_cast<size_t>(both.completed.end() - first), calls.size());
  for (size_t i = 0; i < calls.size(); ++i) {
    const json& event = first[static_cast<ptrdiff_t>(i)];
    EXPECT_EQ(numbers_of(event, "args"), calls[i]["args"].get<std::vector<uint64_t>>()) << event;
    EXPECT_EQ(number_of(event, "ret"), calls[i]["ret"].get<long long>()) << event;
    EXPECT_EQ(name_of(event, "nr"), calls[i]["name"].get<std::string>());
  }
  EXPECT_EQ(name_of(first[1], "ret"), "ENOENT");
}

// The truth waits in a call when it is traced first; it ends in one that never returns.
TEST(CompletedCalls, AreThoseThatBothRecordsShowAndThatAreKnown) {
  const BothForms both = record_both_forms({"syscalls"});
  expect_known_calls(both);
  ASSERT_EQ(both.completed.size(), both.exits.size());
  ASSERT_EQ(both.completed.size(), both.entries.size());
  EXPECT_EQ(name_of(both.entries.back(), "nr"), "exit_group");
  EXPECT_EQ(duration_of(both.completed[0]), -1) << "it began before it was traced";
  for (size_t i = 0; i < both.completed.size(); ++i) {
    const json &completed = both.completed[i], &exit = both.exits[i];
    for (const char* field : {"nr", "ret", "abi"})
      EXPECT_EQ(completed["args"][field], exit["args"][field]) << completed << exit;
    EXPECT_EQ(number_of(completed, "args_known"), 1) << completed;
    if (i == 0) continue;
    const json& entry = both.entries[i - 1];
    EXPECT_EQ(completed["args"]["nr"], entry["args"]["nr"]);
    EXPECT_EQ(completed["args"]["args"], entry["args"]["args"]);
    ASSERT_GE(duration_of(completed), 0) << completed;
    const uint64_t begin =
        completed["ts"].get<uint64_t>() - static_cast<uint64_t>(duration_of(completed));
    EXPECT_GT(begin, both.exits[i - 1]["ts"].get<uint64_t>()) << "after the call before";
    EXPECT_LT(begin, exit["ts"].get<uint64_t>());
    EXPECT_GE(begin, both.completed[i - 1]["ts"].get<uint64_t>());
  }
}

TEST(CompletedCalls, LastAsLongAsTheySleep) {
  constexpr long kMicroseconds = 20'000;
  const BothForms both = record_both_forms({"numbered", "3", std::to_string(kMicroseconds)});
  size_t sleeps = 0;
  for (const json& event : both.completed) {
    if (!name_of(event, "nr").contains("nanosleep")) continue;
    ++sleeps;
    EXPECT_GE(duration_of(event), kMicroseconds * 1000) << event;
  }
  EXPECT_EQ(sleeps, 3U);
}

TEST(CompletedCalls, OfThe32BitEntryHaveItsArguments) {
  const BothForms both = record_both_forms({"ia32"});
  ASSERT_TRUE(both.expected["supported"].get<bool>()) << "this kernel has no 32-bit system calls";
  std::vector<json> events = both.completed;
  std::erase_if(events, [](const json& event) { return number_of(event, "abi") != 1; });
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(name_of(events[0], "nr"), "getpid");
  EXPECT_EQ(number_of(events[0], "ret"), both.expected["ret"].get<long long>());
  EXPECT_GE(duration_of(events[0]), 0);
  auto arguments = numbers_of(events[0], "args");
  arguments.resize(both.expected["args"].size());
  EXPECT_EQ(arguments, both.expected["args"].get<std::vector<uint64_t>>());
}

// A refused call has an end, but no beginning. It must not get that of an earlier call.
TEST(CompletedCalls, ThatSeccompRefusesHaveNoDuration) {
  const BothForms both = record_both_forms(
      {"harmless", fmt::format("0:{}", SYS_getpgid), fmt::format("refuse:{}", SYS_getpgid),
       fmt::format("0:{}", SYS_getpgid), fmt::format("0:{}", SYS_getsid)});
  std::vector<bool> known;
  for (const json& event : both.completed)
    if (name_of(event, "nr") == "getpgid" || name_of(event, "nr") == "getsid")
      known.push_back(duration_of(event) >= 0);
  EXPECT_EQ(known, (std::vector<bool>{true, false, true}));
}

TEST(CompletedCalls, OfExecveAndExecveatHaveNoArguments) {
  const TempDir directory;
  const BothForms both = record_both_forms({"exec", directory.path()});
  size_t execs = 0;
  for (const json& event : both.completed) {
    const std::string name = name_of(event, "nr");
    const bool is_exec = (name == "execve" || name == "execveat") && number_of(event, "ret") == 0;
    execs += is_exec ? 1 : 0;
    EXPECT_EQ(number_of(event, "args_known"), is_exec ? 0 : 1) << event;
    if (is_exec) {
      EXPECT_GT(duration_of(event), 0) << event;
      EXPECT_EQ(numbers_of(event, "args"), std::vector<uint64_t>(6, 0));
    }
  }
  EXPECT_EQ(execs, both.expected["hops"].size());
  EXPECT_EQ(std::ranges::count_if(
                both.entries, [](const json& event) { return name_of(event, "nr") == "execveat"; }),
            1);
}

TEST(CompletedCalls, OfNewThreadsHaveNoDuration) {
  Daemon daemon(config_of_calls());
  WaitingTruth truth({"fork"});
  daemon.set_filter({{"follow", {truth.pid()}}});
  Stream stream(daemon);
  truth.act();
  const Trace trace = stream.finish();
  size_t in_children = 0;
  for (const json& event : trace.events("sys_completed")) {
    const std::string name = name_of(event, "nr");
    const bool makes_thread =
        name == "clone" || name == "clone3" || name == "fork" || name == "vfork";
    if (!makes_thread || number_of(event, "ret") != 0) continue;
    ++in_children;
    EXPECT_EQ(duration_of(event), -1) << event;
  }
  EXPECT_GT(in_children, 0U);
}

TEST(CompletedCalls, AreSelectedAndOthersCountAsFiltered) {
  Daemon daemon(config_of_calls({{"only", {"getppid", "getpriority"}}}));
  WaitingTruth truth({"getppid", "500"});
  daemon.set_filter({{"pid", {truth.pid()}}});
  Stream stream(daemon);
  truth.act();
  const Trace trace = stream.finish();
  EXPECT_EQ(trace.events("sys_completed").size(), 500U);
  for (const json& event : trace.events("sys_completed"))
    EXPECT_EQ(name_of(event, "nr"), "getppid");
  EXPECT_TRUE(trace.events("sys_enter").empty());
  EXPECT_GT(daemon.event_status("sys_completed")["filtered"], 0);
}

TEST(CompletedCalls, BeginAndEndWithAReload) {
  Daemon daemon(json{{"events", {{"syscalls", true}}}});
  WaitingTruth truth({"getppid", "100"});
  Stream stream(daemon, {"--pid", std::to_string(truth.pid())});
  daemon.write_config(config_of_calls());
  daemon.call("reload");
  EXPECT_EQ(daemon.event_status("sys_completed")["enabled"], true);
  EXPECT_EQ(daemon.event_status("sys_enter")["enabled"], false);
  EXPECT_TRUE(attached_program_names(daemon.pid()).contains("note_entry"));
  truth.act();
  daemon.write_config({{"events", {{"syscalls", true}}}});
  daemon.call("reload");
  EXPECT_EQ(daemon.event_status("sys_completed")["enabled"], false);
  EXPECT_FALSE(attached_program_names(daemon.pid()).contains("note_entry"));
  const Trace trace = stream.finish();
  EXPECT_GE(trace.events("sys_completed", truth.pid()).size(), 100U);
}

TEST(CompletedCalls, HitsEqualTheKernelsCountOfProgramRuns) {
  RunStatistics counting;
  json config = config_of_calls();
  config["stream"] = {{"buffer_kb", 64}};
  Daemon daemon(config);
  Stream stream(daemon);
  daemon.send(SIGSTOP);  // so the rings fill up for sure
  run_truth({"getppid", std::to_string(scaled(50'000))});
  daemon.send(SIGCONT);
  daemon.disable({"sys_completed"});
  ProgramCounts kernel;
  json ours, catcher;
  EXPECT_TRUE(eventually([&] {
    kernel = program_counts(daemon.pid(), "sys_completed");
    ours = daemon.event_status("sys_completed");
    catcher = daemon.call("status")["catchers"].value("sys_completed", json::object());
    uint64_t counted = 0;
    for (const char* count : {"recorded", "filtered", "dropped", "ignored"})
      counted += ours[count].get<uint64_t>();
    return counted ==
           kernel.runs - catcher.value("left", uint64_t{0}) + catcher.value("caught", uint64_t{0});
  })) << kernel.runs
      << " runs, " << ours << catcher;
  EXPECT_GT(ours["dropped"], 0);
  EXPECT_GT(ours["recorded"], 0);
  stream.finish();
}

TEST(CompletedCalls, AreInSnapshotsAndTheirReports) {
  constexpr long kCalls = 3000;
  json config = flight_config({{"buffer_kb", 4096}});
  config["events"] = {{"sched", false},
                      {"process", true},
                      {"syscalls", {{"only", {"getppid"}}, {"record", "completed"}}}};
  WaitingTruth truth({"getppid", std::to_string(kCalls)});
  Daemon daemon(for_processes({truth.pid()}, config));
  truth.act();
  const std::string path = daemon.call("snapshot.take")["path"];
  const json report = json::parse(daemon.ctl_ok({"--json", "report", "syscalls", path}));
  ASSERT_EQ(report["calls"]["rows"].size(), 1U) << report;
  const json& row = report["calls"]["rows"][0];
  EXPECT_EQ(row["syscall"], "getppid");
  EXPECT_EQ(row["calls"], kCalls);
  EXPECT_EQ(row["time"]["count"], kCalls) << "all of them are timed: " << row;
  const std::string rows =
      daemon.ctl_ok({"query", path, "SELECT count(*), min(dur) >= 0 FROM calls"});
  EXPECT_THAT(rows, HasSubstr(std::to_string(kCalls)));
  EXPECT_THAT(daemon.ctl_ok({"show", path, "--format", "process", "--names", "--count", "1",
                             "--event", "sys_completed"}),
              HasSubstr("syscall getppid ["));
}

}  // namespace
}  // namespace ktraced::live
