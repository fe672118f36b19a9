// SPDX-License-Identifier: BSD-2-Clause
// Clients of the stream that are slow, dead, or several.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <list>

#include "harness/client/stream.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

const json kGetppid = {{"events", {{"syscalls", {{"only", {"getppid"}}}}}}};

// Resident memory of a process, in KiB.
long resident_kb(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;)
    if (word == "VmRSS:") {
      long kb = 0;
      status >> kb;
      return kb;
    }
  return -1;
}

size_t subscribers(Daemon& daemon) { return daemon.call("status")["subscribers"].size(); }

TEST(SlowClient, LosesWholePacketsAndGetsTheExactCountOfLostEvents) {
  Daemon daemon(kGetppid);
  daemon.disable({"sys_exit"});
  WaitingTruth load({"load"});
  daemon.set_filter({{"pid", {load.pid()}}});
  Stream slow(daemon);
  slow.send(SIGSTOP);
  load.go();
  // The drain continues without it.
  EXPECT_TRUE(eventually(
      [&] { return daemon.call("status")["subscribers"][0]["lost_events"] > 10'000; }, 60s));
  const long count = load.finish()["count"];
  slow.send(SIGCONT);
  const Totals totals = slow.finish_and_count();
  EXPECT_GT(totals.shown, 0);
  EXPECT_GT(totals.lost, 0);
  EXPECT_EQ(totals.shown + totals.lost, count);
}

TEST(SlowClient, DoesNotMakeTheDaemonGrow) {
  Daemon daemon(json{{"events", {{"syscalls", true}, {"sched", true}, {"kmem", true}}}});
  Stream slow(daemon);
  slow.send(SIGSTOP);
  long before = resident_kb(daemon.pid());
  WaitingTruth load({"load", "2"});
  load.go();
  constexpr long kQueueLimitKb = 24 * 1024;  // limit of a subscriber's queue
  constexpr long kSlackKb = 24 * 1024;
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(400ms);
    EXPECT_LT(resident_kb(daemon.pid()), before + kQueueLimitKb + kSlackKb + 2 * 4096);
  }
  load.finish();
}

TEST(SlowClient, DoesNotDelayAnotherClient) {
  Daemon daemon(kGetppid);
  Stream slow(daemon), quick(daemon);
  slow.send(SIGSTOP);
  for (int i = 0; i < 20; ++i) run_truth({"getppid", "2000"});
  Trace trace = quick.finish();
  auto calls = trace.events("sys_enter");
  std::erase_if(calls, [](const json& event) { return event["comm"] != "truth"; });
  EXPECT_EQ(calls.size(), 40000U);
  slow.send(SIGKILL);
}

TEST(DeadClient, IsRemoved) {
  Daemon daemon(kGetppid);
  Stream dead(daemon);
  dead.send(SIGKILL);
  run_truth({"getppid", "10000"});
  EXPECT_TRUE(eventually([&] { return subscribers(daemon) == 0; }));
  Stream next(daemon, {"--comm", "truth"});
  run_truth({"getppid", "10"});
  EXPECT_EQ(next.finish().events("sys_enter").size(), 10U);
}

TEST(Clients, AreRefusedBeyondTheLimitWhileOthersContinue) {
  Daemon daemon(kGetppid);
  Stream first(daemon, {"--comm", "truth"});
  std::list<RpcConnection> others;
  json answer;
  do {
    answer = others.emplace_back(daemon.socket()).call("stream.subscribe");
  } while (!answer.contains("error") && others.size() < 1000);
  EXPECT_EQ(subscribers(daemon), others.size());  // the first, and all but the last
  EXPECT_EQ(answer["error"]["data"]["exit_code"], 69) << answer;
  EXPECT_THAT(answer["error"]["message"].get<std::string>(),
              testing::HasSubstr("sessions of clients are in use"));
  run_truth({"getppid", "10"});
  EXPECT_EQ(first.finish().events("sys_enter").size(), 10U);
  others.clear();
  EXPECT_TRUE(eventually([&] { return subscribers(daemon) == 0; }));
  Stream next(daemon, {"--comm", "truth"});
  run_truth({"getppid", "10"});
  EXPECT_EQ(next.finish().events("sys_enter").size(), 10U);
}

TEST(TwoClients, ReceiveTheSameEvents) {
  Daemon daemon(kGetppid);
  Stream first(daemon, {"--comm", "truth"}), second(daemon, {"--comm", "truth"});
  EXPECT_EQ(subscribers(daemon), 2U);
  run_truth({"getppid", "3000"});
  Trace one = first.finish(), two = second.finish();
  EXPECT_EQ(one.events("sys_enter").size(), 3000U);
  EXPECT_EQ(one.lines(), two.lines());
}

TEST(Client, EndsAfterTheGivenCountOrDuration) {
  Daemon daemon(json{{"events", {{"syscalls", true}}}});
  Stream counted(daemon, {"--count", "25"});
  EXPECT_EQ(counted.wait().lines().size(), 25U);
  auto begin = std::chrono::steady_clock::now();
  Stream timed(daemon, {"--duration", "1"});
  timed.wait();
  auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, 900ms);
  EXPECT_LT(took, 60s);
}

TEST(Client, SelectsByEventPidAndComm) {
  Daemon daemon(json{{"events", {{"syscalls", {{"only", {"getppid"}}}}}}});
  WaitingTruth one({"--comm", "one", "getppid", "30"}), two({"--comm", "two", "getppid", "50"});
  Stream by_event(daemon, {"--event", "sys_exit"}), by_comm(daemon, {"--comm", "tw*"});
  Stream by_pid(daemon, {"--pid", std::to_string(one.pid()), "--event", "sys_enter"});
  one.act();
  two.act();
  Trace exits = by_event.finish();
  for (const json& event : exits.lines()) EXPECT_EQ(event["event"], "sys_exit");
  EXPECT_EQ(by_comm.finish().lines().size(), 100U);
  EXPECT_EQ(by_pid.finish().lines().size(), 30U);
}

}  // namespace
}  // namespace ktraced::live
