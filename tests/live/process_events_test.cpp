// SPDX-License-Identifier: BSD-2-Clause
// fork, exec, exit and rename, and the names that come of them.
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <fstream>
#include <set>

#include "bpf/records.h"

#include "harness/stream.h"
#include "harness/truth.h"

namespace ktraced::live {
namespace {

const json kProcess = {{"events", {{"process", true}}}};
constexpr size_t kFileNameKept = FILENAME_MAX_LEN - 1;  // without the NUL

// Inherited by the ground truth.
int own_oom_score_adj() {
  int value = 0;
  std::ifstream("/proc/self/oom_score_adj") >> value;
  return value;
}

// What the whole process group says while `words` act.
Trace trace_of(const Command& words, json& told) {
  Daemon daemon(kProcess);
  Stream stream(daemon);
  told = run_truth(words);
  Trace trace = stream.finish();
  EXPECT_EQ(trace.lost(), 0);
  return trace;
}

TEST(Fork, TellsParentAndChildAndWhetherItIsAThread) {
  json told;
  Trace trace = trace_of({"fork", "4", "3"}, told);
  long pid = told["pid"];
  std::set<long long> children, threads;
  for (const json& event : trace.events("sched_process_fork", pid)) {
    EXPECT_EQ(number_of(event, "parent_pid"), pid);
    bool is_thread = number_of(event, "child_tgid") == pid;
    EXPECT_EQ(number_of(event, "child_tgid"), is_thread ? pid : number_of(event, "child_pid"));
    (is_thread ? threads : children).insert(number_of(event, "child_pid"));
  }
  std::set<long long> told_children, told_threads(told["threads"].begin(), told["threads"].end());
  for (const json& child : told["children"]) told_children.insert(child["pid"].get<long long>());
  EXPECT_EQ(children, told_children);
  EXPECT_EQ(threads, told_threads);
}

TEST(Exit, TellsTheExitCodeOrTheSignal) {
  json told;
  Trace trace = trace_of({"fork", "5"}, told);
  ASSERT_EQ(told["children"].size(), 7U);
  for (const json& child : told["children"]) {
    auto exits = trace.events("sched_process_exit", child["pid"]);
    ASSERT_EQ(exits.size(), 1U) << child;
    EXPECT_EQ(number_of(exits[0], "pid"), child["pid"]);
    EXPECT_EQ(number_of(exits[0], "exit_code"), child["wait_status"].get<long long>());
    EXPECT_EQ(number_of(exits[0], "group_dead"), 1);
    EXPECT_EQ(number_of(exits[0], "prio"), told["prio"]);
    EXPECT_EQ(exits[0]["comm"], told["comm"]);
  }
}

TEST(Exit, OfAThreadIsNotTheEndOfItsProcess) {
  json told;
  Trace trace = trace_of({"fork", "0", "2"}, told);
  for (const json& thread : told["threads"]) {
    auto exits = trace.events("sched_process_exit", thread);
    ASSERT_EQ(exits.size(), 1U);
    EXPECT_EQ(exits[0]["pid"], told["pid"]);
    EXPECT_EQ(number_of(exits[0], "group_dead"), 0);
  }
}

TEST(Exec, TellsTheFileNameAlsoOddAndLongOnes) {
  TempDir directory;
  json told;
  Trace trace = trace_of({"exec", directory.path()}, told);
  auto execs = trace.events("sched_process_exec", told["pid"]);
  // The first is the test's own start of the program.
  ASSERT_EQ(execs.size(), told["hops"].size() + 1);
  for (size_t i = 0; i < told["hops"].size(); ++i) {
    const json &hop = told["hops"][i], &event = execs[i + 1];
    EXPECT_EQ(event["args"]["filename"],
              hop["filename"].get<std::string>().substr(0, kFileNameKept));
    EXPECT_EQ(number_of(event, "old_pid"), hop["caller"]);
    EXPECT_EQ(number_of(event, "pid"), hop["tid"]);
    EXPECT_EQ(event["comm"], hop["comm"]);
  }
}

TEST(Rename, TellsOldAndNewNameAlsoOfAnotherThread) {
  json told;
  Trace trace = trace_of({"rename"}, told);
  std::vector<json> renames = trace.events("task_rename", told["pid"]);
  std::erase_if(renames, [&](const json& event) {  // exec renames too
    return event["args"]["newcomm"] == "truth";
  });
  ASSERT_EQ(renames.size(), told["renames"].size());
  for (size_t i = 0; i < renames.size(); ++i) {
    const json& truth = told["renames"][i];
    EXPECT_EQ(number_of(renames[i], "pid"), truth["tid"]);
    EXPECT_EQ(renames[i]["args"]["oldcomm"], truth["old"]);
    EXPECT_EQ(renames[i]["args"]["newcomm"], truth["new"]);
    EXPECT_EQ(number_of(renames[i], "oom_score_adj"), own_oom_score_adj());
  }
}

TEST(Names, FollowATaskThroughItsLife) {
  Daemon daemon(
      json{{"events", {{"process", true}, {"syscalls", {{"only", {"prctl", "exit_group"}}}}}}});
  Stream stream(daemon);
  json told = run_truth({"rename"});
  Trace trace = stream.finish();
  // Each call shows the name the task had when it made it.
  std::vector<json> calls;
  for (const json& event : trace.events("sys_enter", told["pid"]))
    if (event["tid"] == told["pid"] && numbers_of(event, "args")[0] != PR_SET_PDEATHSIG)
      calls.push_back(event);
  ASSERT_EQ(calls.size(), 4U);  // three prctl, then exit_group
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(calls[i]["comm"], told["renames"][i]["old"]);
  EXPECT_EQ(calls[3]["comm"], told["renames"][2]["new"]);
}

TEST(Names, OfProcessesOlderThanTheDaemonAreKnown) {
  WaitingTruth truth({"--comm", "older \\ \"one\"", "getppid", "3"});
  Daemon daemon(json{{"events", {{"syscalls", {{"only", {"getppid"}}}}}}});
  Stream stream(daemon);
  truth.act();
  auto events = stream.finish().events("sys_enter", truth.pid());
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0]["comm"], "older \\ \"one\"");
}

}  // namespace
}  // namespace ktraced::live
