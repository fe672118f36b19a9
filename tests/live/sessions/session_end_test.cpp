// SPDX-License-Identifier: BSD-2-Clause
// A session that ends reports the sums of its counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "harness/client/daemon.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;

class SessionEnd : public testing::Test {
 protected:
  // A client that counts the events of its session until it gets a signal.
  Process count(const Command& options) {
    Command words{"stream", "--count-only"};
    words.insert(words.end(), options.begin(), options.end());
    return Process(daemon.ctl_command(words));
  }
  void wait_for_readers(size_t readers) {
    ASSERT_TRUE(reaches([&] { return daemon.call("status")["subscribers"].size(); }, readers));
  }
  static json end(Process& client) {
    client.send(SIGINT);
    const Finished finished = client.wait();
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    return json::parse(finished.out, nullptr, false);
  }

  Daemon daemon{json{{"events", numbered_calls()}}};
};

TEST_F(SessionEnd, ReportsRecordedAndFilteredHits) {
  WaitingTruth accepted({"numbered", "300"}), rejected({"numbered", "200"});
  Process client = count({"--event", "sys_enter", "--pid", std::to_string(accepted.pid())});
  wait_for_readers(1);
  accepted.act();
  rejected.act();
  const json shown = end(client);
  EXPECT_EQ(shown["events"], shown["session"]["recorded"]);
  EXPECT_GE(shown["session"]["recorded"], 300);
  EXPECT_GE(shown["session"]["filtered"], 200);
  EXPECT_EQ(shown["session"]["dropped"], 0);
  EXPECT_TRUE(eventually([&] { return daemon.call("session.list")["sessions"].empty(); }));
}

TEST_F(SessionEnd, SaysThatTheCountsAreSinceTheResetOfTheSession) {
  WaitingTruth before({"numbered", "300"}), after({"numbered", "200"});
  Process client =
      count({"--name", "mine", "--event", "sys_enter", "--syscall", "getpriority", "--pid",
             std::to_string(before.pid()) + "," + std::to_string(after.pid())});
  wait_for_readers(1);
  before.act();
  EXPECT_TRUE(reaches(
      [&] {
        return daemon.call("session.show", {{"session", "mine"}})["totals"]["recorded"]
            .get<size_t>();
      },
      300));
  daemon.call("reset", {{"session", "mine"}});
  after.act();
  const json shown = end(client);
  EXPECT_EQ(shown["session"]["recorded"], 200);
  EXPECT_GT(shown["session"]["reset_ts"], 0);
  EXPECT_EQ(shown["events"].get<uint64_t>() + shown["lost"].get<uint64_t>(), 500U);
}

// The end comes while programs record and rings overflow.
TEST_F(SessionEnd, ReportsExactlyTheRecordsAndLossesOfTheStreamUnderLoad) {
  for (int round = 0; round < 5; ++round) {
    WaitingTruth truth({"numbered", "0"});
    Process small = count({"--name", "small", "--event", "sys_enter,sys_exit", "--pid",
                           std::to_string(truth.pid()), "--buffer-kb", "64"});
    Process all =
        count({"--name", "all", "--event", "sys_enter", "--event", "sched", "--buffer-kb", "1024"});
    wait_for_readers(2);
    truth.go();
    for (const char* name : {"small", "all"})
      EXPECT_TRUE(eventually([&] {
        const json totals = daemon.call("session.show", {{"session", name}})["totals"];
        return totals["recorded"].get<uint64_t>() + totals["dropped"].get<uint64_t>() > 10'000;
      }));
    for (Process* client : {&small, &all}) {
      const json shown = end(*client);
      const json& session = shown["session"];
      EXPECT_GT(shown["events"], 0);
      EXPECT_EQ(shown["events"].get<uint64_t>() + shown["lost"].get<uint64_t>(),
                session["recorded"].get<uint64_t>() + session["dropped"].get<uint64_t>())
          << shown;
    }
    truth.finish();
  }
}

TEST_F(SessionEnd, ReportsAlsoWhenTheDaemonStops) {
  WaitingTruth truth({"numbered", "300"});
  Process client = count(
      {"--event", "sys_enter", "--syscall", "getpriority", "--pid", std::to_string(truth.pid())});
  wait_for_readers(1);
  truth.act();
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const Finished finished = client.wait();
  EXPECT_EQ(finished.exit_code, 69);
  const json shown = json::parse(finished.out, nullptr, false);
  EXPECT_EQ(shown["events"], 300);
  EXPECT_EQ(shown["session"]["recorded"], 300);
}

TEST_F(SessionEnd, IsInTheSummaryAndInTheManifestOfARecording) {
  WaitingTruth rejected({"numbered", "200"});
  const Finished shown = daemon.ctl({"stream", "--duration", "0.2s", "--event", "sys_enter"});
  EXPECT_THAT(shown.err, HasSubstr(" filtered, 0 missed, in "));
  ASSERT_TRUE(eventually([&] { return daemon.call("status")["subscribers"].empty(); }));
  const std::string path = daemon.directory() / "recording";
  Process client(daemon.ctl_command({"record", "-o", path, "--event", "sys_enter", "--syscall",
                                     "getpriority", "--comm", "nobody"}));
  wait_for_readers(1);
  rejected.act();
  client.send(SIGINT);
  EXPECT_EQ(client.wait().exit_code, 0);
  const json manifest = manifest_of(path);
  EXPECT_EQ(manifest["records"], 0);
  EXPECT_GE(manifest["filtered"]["sys_enter"], 200);
  EXPECT_TRUE(manifest["complete"]) << manifest["incomplete_because"];
}

}  // namespace
}  // namespace ktraced::live
