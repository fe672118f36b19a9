// SPDX-License-Identifier: BSD-2-Clause
// Clients of the stream that are slow.
#include <gtest/gtest.h>

#include <csignal>
#include <cstdint>
#include <list>

#include "harness/client/stream.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

const json kGetppid = {{"events", {{"syscalls", {{"only", {"getppid"}}}}}}};

// Resident memory of a process, in KiB; throws if it has ended.
long resident_kb(pid_t pid) { return std::stol(process_status(pid, "VmRSS")); }

TEST(SlowClient, LosesWholePacketsAndGetsTheExactCountOfLostEvents) {
  WaitingTruth load({"load"});
  Daemon daemon(for_processes({load.pid()}, kGetppid));
  daemon.disable({"sys_exit"});
  Stream slow(daemon);
  slow.send(SIGSTOP);
  load.go();
  // The drain continues without it.
  EXPECT_TRUE(
      eventually([&] { return daemon.call("status")["subscribers"][0]["lost_events"] > 10'000; }));
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
  const auto lost = [&] {
    return daemon.call("status")["subscribers"][0]["lost_events"].get<uint64_t>();
  };
  for (int i = 0; i < 5; ++i) {
    const uint64_t enough = lost() + 100'000;
    EXPECT_TRUE(eventually([&] { return lost() > enough; }));
    EXPECT_LT(resident_kb(daemon.pid()), before + kQueueLimitKb + kSlackKb + 2 * 4096);
  }
  load.finish();
}

TEST(SlowClient, DoesNotDelayAnotherClient) {
  std::list<WaitingTruth> truths;
  std::vector<pid_t> pids;
  for (int i = 0; i < 20; ++i)
    pids.push_back(truths.emplace_back(Command{"getppid", "2000"}).pid());
  Daemon daemon(kGetppid);
  Stream slow(daemon);
  Stream quick(daemon, only_of(pids));
  slow.send(SIGSTOP);
  for (WaitingTruth& truth : truths) truth.act();
  EXPECT_EQ(quick.finish().events("sys_enter").size(), 40'000U);
  slow.send(SIGKILL);
}

}  // namespace
}  // namespace ktraced::live
