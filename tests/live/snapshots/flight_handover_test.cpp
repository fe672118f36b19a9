// SPDX-License-Identifier: BSD-2-Clause
// A bank that one daemon froze and the next one finds is written to disk exactly once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <optional>

#include "harness/disks/tmpfs.h"
#include "harness/machine/held_thread.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kWriter = "ktraced-writer";

void kill_held(Daemon& daemon, HeldThread& held) {
  daemon.send(SIGKILL);
  held.release();
  daemon.end(SIGKILL);
}

// Ends a daemon that has frozen its history but not begun to write it.
void leave_frozen(Daemon& daemon) {
  HeldThread writer(daemon.pid(), kWriter);
  daemon.call("snapshot.take", {{"name", "left"}, {"wait", false}});
  kill_held(daemon, writer);
}

json snapshots_of(Daemon& daemon) { return daemon.call("snapshot.list")["snapshots"]; }
json flight_status(Daemon& daemon) { return daemon.call("status")["flight"]; }

std::vector<uint64_t> numbers_of_snapshot(const json& snapshot, pid_t pid) {
  return numbers_in(snapshot["path"].get<std::string>(), pid);
}

TEST(FlightHandover, DoesNotWriteASnapshotTwiceBeforeItsRelease) {
  WaitingTruth before({"numbered", "1000"});
  WaitingTruth after({"numbered", "500"});
  Daemon daemon(flight_config_for({before.pid(), after.pid()}));
  before.act();
  {
    std::optional<HeldThread> writer(std::in_place, daemon.pid(), kWriter);
    daemon.call("snapshot.take", {{"name", "once"}, {"wait", false}});
    // The daemon does not learn that the snapshot has been written.
    HeldThread main(daemon.pid());
    writer.reset();
    ASSERT_TRUE(eventually([&] { return fs::exists(daemon.directory() / "snapshots/once"); }));
    kill_held(daemon, main);
  }
  daemon.start();
  after.act();
  EXPECT_TRUE(daemon.logged("once holds what an earlier daemon has frozen"));
  EXPECT_EQ(flight_status(daemon)["frozen"], 0);
  EXPECT_EQ(daemon.call("snapshot.list")["writing"], json::array());
  const json list = snapshots_of(daemon);
  ASSERT_EQ(list.size(), 1U) << list;
  EXPECT_EQ(list[0]["name"], "once");
  EXPECT_EQ(numbers_of_snapshot(list[0], before.pid()), from_to(1, 1000));
  const json next = daemon.call("snapshot.take");
  EXPECT_EQ(numbers_of_snapshot(next, before.pid()).size(), 0U);
  EXPECT_EQ(numbers_of_snapshot(next, after.pid()), from_to(1, 500));
}

TEST(FlightHandover, WritesEachOfTwoFrozenBanksWithItsTime) {
  WaitingTruth first({"numbered", "1000"});
  WaitingTruth second({"numbered", "500"});
  WaitingTruth third({"numbered", "200"});
  Daemon daemon(flight_config_for({first.pid(), second.pid(), third.pid()}, {{"banks", 3}}));
  {
    HeldThread writer(daemon.pid(), kWriter);
    first.act();
    daemon.call("snapshot.take", {{"name", "one"}, {"wait", false}});
    second.act();
    daemon.call("snapshot.take", {{"name", "two"}, {"wait", false}});
    third.act();
    kill_held(daemon, writer);
  }
  daemon.start();
  json list;
  ASSERT_TRUE(reaches([&] { return (list = snapshots_of(daemon)).size(); }, 2)) << daemon.log();
  if (list[0]["end_ns"] > list[1]["end_ns"]) std::swap(list[0], list[1]);
  EXPECT_EQ(list[0]["end_ns"], list[1]["begin_ns"]);
  EXPECT_LT(list[1]["begin_ns"], list[1]["end_ns"]);
  EXPECT_TRUE(complete_but_for_missed(list[0])) << list[0];
  EXPECT_TRUE(complete_but_for_missed(list[1])) << list[1];
  EXPECT_EQ(numbers_of_snapshot(list[0], first.pid()), from_to(1, 1000));
  EXPECT_EQ(numbers_of_snapshot(list[0], second.pid()).size(), 0U);
  EXPECT_EQ(numbers_of_snapshot(list[1], second.pid()), from_to(1, 500));
  EXPECT_EQ(numbers_of_snapshot(list[1], first.pid()).size(), 0U);
  const json taken = daemon.call("snapshot.take");
  EXPECT_EQ(numbers_of_snapshot(taken, third.pid()), from_to(1, 200));
  EXPECT_EQ(manifest_of(taken["path"].get<std::string>())["begin_ns"], list[1]["end_ns"]);
}

TEST(FlightHandover, RetriesUntilTheSnapshotCanBeWritten) {
  Tmpfs disk("size=64m");
  WaitingTruth before({"numbered", "1000"});
  WaitingTruth after({"numbered", "500"});
  Daemon daemon(flight_config_for({before.pid(), after.pid()}, {{"directory", disk.path() / "d"}}));
  before.act();
  leave_frozen(daemon);
  disk.make_read_only();
  daemon.start();
  const json waiting = flight_status(daemon);
  EXPECT_EQ(waiting["frozen"], 1);
  EXPECT_THAT(waiting["unsaved"].get<std::string>(), HasSubstr("cannot write to the directory"));
  EXPECT_THAT(daemon.ctl_ok({"status"}), HasSubstr("cannot write to the directory"));
  after.act();
  const json refused = daemon.call_error("snapshot.take");
  EXPECT_EQ(refused["data"]["exit_code"], 69);
  EXPECT_THAT(refused["message"].get<std::string>(), HasSubstr("an earlier daemon recorded"));

  disk.remount("rw");
  json list;
  ASSERT_TRUE(reaches([&] { return (list = snapshots_of(daemon)).size(); }, 1)) << daemon.log();
  EXPECT_EQ(numbers_of_snapshot(list[0], before.pid()), from_to(1, 1000));
  EXPECT_TRUE(eventually([&] { return flight_status(daemon)["frozen"] == 0; }));
  EXPECT_EQ(flight_status(daemon)["unsaved"], nullptr);
  EXPECT_EQ(take_numbers(daemon, after.pid()), from_to(1, 500));
  const std::string log = daemon.log();
  const auto expected = log.find("cannot be written yet");
  EXPECT_NE(expected, std::string::npos) << log;
  EXPECT_EQ(log.find("cannot be written yet", expected + 1), std::string::npos) << log;
}

TEST(FlightHandover, ReportsAnUnwrittenSnapshotAsLostAtStop) {
  Tmpfs disk("size=64m");
  Daemon daemon(flight_config({{"directory", disk.path() / "d"}}));
  run_truth({"numbered", "1000"});
  leave_frozen(daemon);
  disk.make_read_only();
  daemon.start();
  EXPECT_EQ(flight_status(daemon)["frozen"], 1);
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_TRUE(daemon.logged("recorded is lost: cannot write to the directory"));
}

TEST(FlightHandover, PersistentDaemonLeavesAnUnwrittenSnapshotToTheNext) {
  Tmpfs disk("size=64m");
  WaitingTruth before({"numbered", "1000"});
  json config = flight_config_for({before.pid()}, {{"directory", disk.path() / "d"}});
  config["persist"] = true;
  Daemon daemon(config);
  before.act();
  leave_frozen(daemon);
  disk.make_read_only();
  daemon.start();
  EXPECT_EQ(flight_status(daemon)["frozen"], 1);
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_TRUE(daemon.logged("is left to the next one: cannot write to the directory"));
  disk.remount("rw");
  daemon.start();
  json list;
  ASSERT_TRUE(reaches([&] { return (list = snapshots_of(daemon)).size(); }, 1)) << daemon.log();
  EXPECT_EQ(numbers_of_snapshot(list[0], before.pid()), from_to(1, 1000));
  daemon.end(SIGKILL);
}

TEST(FlightHandover, WritesToAnotherDirectoryAfterAReload) {
  Tmpfs disk("size=64m");
  WaitingTruth before({"numbered", "1000"});
  Daemon daemon(flight_config_for({before.pid()}, {{"directory", disk.path()}}));
  before.act();
  leave_frozen(daemon);
  disk.make_read_only();
  daemon.start();
  daemon.write_config(
      flight_config_for({before.pid()}, {{"directory", daemon.directory() / "elsewhere"}}));
  daemon.ctl_ok({"reload"});
  json list;
  ASSERT_TRUE(reaches([&] { return (list = snapshots_of(daemon)).size(); }, 1)) << daemon.log();
  EXPECT_EQ(numbers_of_snapshot(list[0], before.pid()), from_to(1, 1000));
}

TEST(FlightHandover, NextDaemonFreesTheRingsWhenItsRecorderIsDisabled) {
  Daemon daemon(flight_config());
  daemon.end(SIGKILL);
  daemon.write_config(flight_config({{"enabled", false}}));
  daemon.start();
  EXPECT_TRUE(daemon.logged("discarded the history of an earlier daemon"));
  EXPECT_EQ(flight_status(daemon)["bytes"], 0);
  size_t objects = 0;
  for (const auto& object : fs::directory_iterator(daemon.pins())) {
    if (!object.path().filename().string().starts_with("object-")) continue;
    ++objects;
    for (const auto& ring : fs::directory_iterator(object.path() / "rings"))
      EXPECT_THAT(ring.path().filename().string(), testing::Not(testing::StartsWith("flight_")));
  }
  EXPECT_EQ(objects, 1U);
}

}  // namespace
}  // namespace ktraced::live
