// SPDX-License-Identifier: BSD-2-Clause
// fork, exec, exit and rename, and the names derived from them.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "bpf/records.h"

#include "harness/client/stream.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

// What the descendants of this process do.
json own(json events) {
  return {{"events", std::move(events)}, {"filter", {{"follow", {::getpid()}}}}};
}
constexpr size_t kFileNameKept = FILENAME_MAX_LEN - 1;  // without the NUL

// Inherited by the ground truth.
int own_oom_score_adj() {
  int value = 0;
  std::ifstream("/proc/self/oom_score_adj") >> value;
  return value;
}

// The events of the whole process group while `words` act.
Trace trace_of(const Command& words, json& expected) {
  Daemon daemon(own({{"process", true}}));
  Stream stream(daemon);
  expected = run_truth(words);
  Trace trace = stream.finish();
  EXPECT_EQ(trace.lost(), 0);
  return trace;
}

void expect_forks(const Trace& trace, const json& expected) {
  const long pid = expected["pid"];
  std::set<long long> children, threads;
  for (const json& event : trace.events("sched_process_fork", pid)) {
    EXPECT_EQ(number_of(event, "parent_pid"), pid);
    const bool is_thread = number_of(event, "child_tgid") == pid;
    EXPECT_EQ(number_of(event, "child_tgid"), is_thread ? pid : number_of(event, "child_pid"));
    (is_thread ? threads : children).insert(number_of(event, "child_pid"));
  }
  std::set<long long> expected_children,
      expected_threads(expected["threads"].begin(), expected["threads"].end());
  for (const json& child : expected["children"])
    expected_children.insert(child["pid"].get<long long>());
  EXPECT_EQ(children, expected_children);
  EXPECT_EQ(threads, expected_threads);
}

void expect_ends(const Trace& trace, const json& expected) {
  ASSERT_EQ(expected["children"].size(), 7U);
  for (const json& child : expected["children"]) {
    auto exits = trace.events("sched_process_exit", child["pid"]);
    ASSERT_EQ(exits.size(), 1U) << child;
    EXPECT_EQ(number_of(exits[0], "pid"), child["pid"]);
    EXPECT_EQ(number_of(exits[0], "exit_code"), child["wait_status"].get<long long>());
    EXPECT_EQ(number_of(exits[0], "group_dead"), 1);
    EXPECT_EQ(number_of(exits[0], "prio"), expected["prio"]);
    EXPECT_EQ(exits[0]["comm"], expected["comm"]);
  }
  for (const json& thread : expected["threads"]) {
    auto exits = trace.events("sched_process_exit", thread);
    ASSERT_EQ(exits.size(), 1U);
    EXPECT_EQ(exits[0]["pid"], expected["pid"]);
    EXPECT_EQ(number_of(exits[0], "group_dead"), 0) << "its process goes on";
  }
}

TEST(Fork, AndExitRecordChildrenAndThreadsAndHowTheyEnd) {
  json expected;
  const Trace trace = trace_of({"fork", "5", "3"}, expected);
  expect_forks(trace, expected);
  expect_ends(trace, expected);
}

TEST(Exec, RecordsOddAndLongFileNamesAndArguments) {
  TempDir directory;
  json expected;
  Trace trace = trace_of({"exec", directory.path()}, expected);
  auto execs = trace.events("sched_process_exec", expected["pid"]);
  // The first exec is the test's start of the program.
  ASSERT_EQ(execs.size(), expected["hops"].size() + 1);
  for (size_t i = 0; i < expected["hops"].size(); ++i) {
    const json &hop = expected["hops"][i], &event = execs[i + 1];
    EXPECT_EQ(event["args"]["filename"],
              hop["filename"].get<std::string>().substr(0, kFileNameKept));
    EXPECT_EQ(number_of(event, "old_pid"), hop["caller"]);
    EXPECT_EQ(number_of(event, "pid"), hop["tid"]);
    EXPECT_EQ(event["comm"], hop["comm"]);
    EXPECT_EQ(number_of(event, "parent_pid"), expected["parent"]);
    EXPECT_EQ(event["args"]["argv"], hop["argv"]["text"]);
    EXPECT_EQ(event["args"].value("argv_cut", false), hop["argv"]["cut"]);
  }
}

TEST(Rename, RecordsOldAndNewNameAndThoseOfAnotherThread) {
  json expected;
  Trace trace = trace_of({"rename"}, expected);
  std::vector<json> renames = trace.events("task_rename", expected["pid"]);
  std::erase_if(renames, [&](const json& event) {  // exec renames too
    return event["args"]["newcomm"] == "truth";
  });
  ASSERT_EQ(renames.size(), expected["renames"].size());
  for (size_t i = 0; i < renames.size(); ++i) {
    const json& truth = expected["renames"][i];
    EXPECT_EQ(number_of(renames[i], "pid"), truth["tid"]);
    EXPECT_EQ(renames[i]["args"]["oldcomm"], truth["old"]);
    EXPECT_EQ(renames[i]["args"]["newcomm"], truth["new"]);
    EXPECT_EQ(number_of(renames[i], "oom_score_adj"), own_oom_score_adj());
  }
}

TEST(Names, FollowATaskFromForkToExit) {
  Daemon daemon(own({{"process", true}, {"syscalls", {{"only", {"prctl", "exit_group"}}}}}));
  Stream stream(daemon);
  json expected = run_truth({"rename"});
  Trace trace = stream.finish();
  // Each call shows the name the task had when it made it.
  std::vector<json> calls;
  for (const json& event : trace.events("sys_enter", expected["pid"]))
    if (event["tid"] == expected["pid"] && numbers_of(event, "args")[0] != PR_SET_PDEATHSIG)
      calls.push_back(event);
  ASSERT_EQ(calls.size(), 4U);  // three prctl, then exit_group
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(calls[i]["comm"], expected["renames"][i]["old"]);
  EXPECT_EQ(calls[3]["comm"], expected["renames"][2]["new"]);
}

TEST(Names, AreKnownForProcessesOlderThanTheDaemon) {
  WaitingTruth truth({"--comm", "older \\ \"one\"", "getppid", "3"});
  Daemon daemon(
      for_processes({truth.pid()}, {{"events", {{"syscalls", {{"only", {"getppid"}}}}}}}));
  Stream stream(daemon);
  truth.act();
  auto events = stream.finish().events("sys_enter", truth.pid());
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0]["comm"], "older \\ \"one\"");
}

}  // namespace
}  // namespace ktraced::live
