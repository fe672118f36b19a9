// SPDX-License-Identifier: BSD-2-Clause
// A resized flight recorder, or one that is being resized, is found by the next daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "harness/machine/held_thread.h"
#include "harness/machine/scale.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/resize.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Each time the history, and what is written later, are where they belong.
TEST(FlightResize, SurvivesRestartsAndKills) {
  WaitingTruth first({"numbered", "1000"}), second({"numbered", "1000"}),
      third({"numbered", "1000"});
  const std::vector<pid_t> pids = {first.pid(), second.pid(), third.pid()};
  Daemon daemon(flight_config_for(pids, {{"buffer_kb", 1024}}));
  first.act();
  reload(daemon, flight_config_for(pids, {{"buffer_kb", 2048}, {"banks", 4}}));
  second.act();
  ASSERT_EQ(finished_snapshots(daemon, 1).size(), 1U);
  const uint64_t recorded = daemon.event_status("sys_enter")["recorded"];
  daemon.end(SIGKILL);
  third.act();
  daemon.start();
  EXPECT_TRUE(daemon.logged("adopted what an earlier daemon left running"));
  const json taken = daemon.call("snapshot.take");
  EXPECT_TRUE(complete_but_for_missed(taken)) << taken;
  EXPECT_EQ(snapshot_numbers(taken, second.pid()), from_to(1, 1000));
  EXPECT_EQ(snapshot_numbers(taken, third.pid()), from_to(1, 1000));
  EXPECT_GE(daemon.event_status("sys_enter")["recorded"], recorded);
  // The sizes can be changed again, back to the first ones.
  reload(daemon, flight_config_for(pids, {{"buffer_kb", 1024}}));
  EXPECT_EQ(daemon.stop().exit_code, 0);
  daemon.start();
  EXPECT_EQ(flight_of(daemon)["ring_bytes"], 1024 * 1024);
}

// Killed before it has written what it retired.
TEST(FlightResize, LeavesUnwrittenHistoryToTheNextDaemon) {
  WaitingTruth before({"numbered", "3000"});
  WaitingTruth after({"numbered", "2000"});
  const std::vector<pid_t> pids = {before.pid(), after.pid()};
  Daemon daemon(flight_config_for(pids, {{"buffer_kb", 1024}}));
  before.act();
  {
    HeldThread writer(daemon.pid(), "ktraced-writer");
    reload(daemon, flight_config_for(pids, {{"buffer_kb", 256}, {"banks", 3}}));
    after.act();
    const json refused = refused_reload(daemon, flight_config_for(pids, {{"buffer_kb", 512}}));
    EXPECT_THAT(refused["message"].get<std::string>(),
                HasSubstr("cannot be changed while a snapshot is being written"));
    daemon.write_config(flight_config_for(pids, {{"buffer_kb", 256}, {"banks", 3}}));
    // The new banks take snapshots meanwhile.
    daemon.call("snapshot.take", {{"name", "second"}, {"wait", false}});
    daemon.send(SIGKILL);
    writer.release();
    daemon.end(SIGKILL);
  }
  daemon.start();
  const auto snapshots = finished_snapshots(daemon, 2);
  ASSERT_EQ(snapshots.size(), 2U);
  EXPECT_TRUE(complete_but_for_missed(snapshots[0])) << snapshots[0];
  EXPECT_EQ(snapshot_numbers(snapshots[0], before.pid()), from_to(1, 3000));
  EXPECT_EQ(snapshot_numbers(snapshots[1], after.pid()), from_to(1, 2000));
  EXPECT_EQ(snapshots[0]["end_ns"], snapshots[1]["begin_ns"]);
  const json counts = daemon.event_status("sys_enter");
  EXPECT_EQ(counts["recorded"].get<uint64_t>() + counts["missed"].get<uint64_t>(), 5000U) << counts;
}

// The numbers of a process in all snapshots, and in one that is taken now.
size_t numbers_anywhere(Daemon& daemon, pid_t pid) {
  EXPECT_TRUE(eventually([&] { return flight_of(daemon)["frozen"] == 0; }));
  size_t found = snapshot_numbers(daemon.call("snapshot.take"), pid).size();
  const json list = daemon.call("snapshot.list");
  for (const json& each : list["snapshots"])
    if (each["name"].get<std::string>().starts_with("re"))  // resized, or recovered
      found += snapshot_numbers(each, pid).size();
  return found;
}

void delete_snapshots(Daemon& daemon) {
  const json list = daemon.call("snapshot.list");
  for (const json& each : list["snapshots"])
    daemon.call("snapshot.delete", {{"name", each["name"]}});
}

// Killed at some moment of it, and at last after it: the next daemon has the history, or says that
// it is lost.
TEST(FlightResize, LeavesSomethingThatTheNextDaemonUnderstandsWhenKilled) {
  Daemon daemon(flight_config({{"buffer_kb", 1024}}));
  const long rounds = 4 + scaled(usual_or_whole(4, 16));
  int kb = 1024, adopted = 0;
  for (long round = 0; round < rounds; ++round) {
    kb = kb == 1024 ? 2048 : 1024;
    WaitingTruth before({"numbered", "500"}), after({"numbered", "500"});
    const json config = flight_config_for({before.pid(), after.pid()}, {{"buffer_kb", kb}});
    daemon.set_filter(config["filter"]);
    before.act();
    daemon.write_config(config);
    daemon.send(SIGHUP);
    if (round + 1 == rounds)
      EXPECT_TRUE(daemon.logged("configuration reloaded"));
    else
      std::this_thread::sleep_for(Milliseconds(700) * round / rounds);
    daemon.end(SIGKILL);
    daemon.start();
    const bool kept = daemon.log().contains("adopted what an earlier daemon left running");
    if (kept) ++adopted;
    EXPECT_TRUE(kept || daemon.logged("its history is lost"));
    EXPECT_EQ(numbers_anywhere(daemon, before.pid()), kept ? 500U : 0U) << "round " << round;
    after.act();
    EXPECT_EQ(daemon.event_status("sys_enter")["dropped"], 0);
    EXPECT_EQ(snapshot_numbers(daemon.call("snapshot.take"), after.pid()), from_to(1, 500));
    delete_snapshots(daemon);
  }
  EXPECT_GT(adopted, 0);
}

// The directory of the daemon's pinned maps.
fs::path pinned_maps(Daemon& daemon) {
  for (const auto& entry : fs::directory_iterator(daemon.pins()))
    if (entry.path().filename().string().starts_with("object-")) return entry.path() / "maps";
  return {};
}

// As a daemon leaves it that is killed while the old parts are replaced.
TEST(FlightResize, LeftHalfDoneIsReplacedByTheNextDaemon) {
  WaitingTruth before({"numbered", "100"}), after({"numbered", "500"});
  Daemon daemon(flight_config_for({before.pid(), after.pid()}, {{"buffer_kb", 1024}}));
  before.act();
  daemon.end(SIGKILL);
  const fs::path maps = pinned_maps(daemon);
  fs::rename(maps / "-data-control", maps / "control_while_replacing");
  daemon.start();
  EXPECT_TRUE(daemon.logged("an earlier daemon ended while it resized it): its history is lost"));
  EXPECT_THAT(daemon.call("snapshot.take")["incomplete_because"].dump(),
              testing::HasSubstr("is lost, except for what is on disk: an earlier daemon ended"));
  after.act();
  EXPECT_EQ(take_numbers(daemon, after.pid()), from_to(1, 500));
  const json counts = daemon.event_status("sys_enter");
  EXPECT_EQ(counts["recorded"].get<uint64_t>() + counts["missed"].get<uint64_t>(), 500U)
      << "counts from zero: " << counts;
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_FALSE(fs::exists(daemon.pins()));
}

// As a daemon leaves it that is killed before anything is replaced.
TEST(FlightResize, PreparedByADeadDaemonLeavesNothing) {
  WaitingTruth before({"numbered", "500"});
  Daemon daemon(flight_config_for({before.pid()}, {{"buffer_kb", 1024}}));
  before.act();
  daemon.end(SIGKILL);
  const fs::path maps = pinned_maps(daemon);
  fs::create_hard_link(maps / "flight_rings", maps / "staged_flight_rings");
  daemon.start();
  EXPECT_FALSE(fs::exists(maps / "staged_flight_rings"));
  EXPECT_EQ(take_numbers(daemon, before.pid()), from_to(1, 500));
}

}  // namespace
}  // namespace ktraced::live
