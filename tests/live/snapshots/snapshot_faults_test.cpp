// SPDX-License-Identifier: BSD-2-Clause
// Snapshots under faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "harness/client/daemon.h"
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

// Except for the daemon's lock.
bool empty(const fs::path& directory) {
  return std::ranges::all_of(fs::directory_iterator(directory), [](const auto& entry) {
    return entry.path().filename() == ".ktraced.lock";
  });
}

// Blocks writing while it lives.
HeldThread hold_writer(const Daemon& daemon) { return {daemon.pid(), "ktraced-writer"}; }

// The daemon still records and can take a snapshot.
void expect_well(Daemon& daemon) {
  WaitingTruth truth({"numbered", "1000"});
  daemon.set_filter({{"pid", {truth.pid()}}});
  truth.act();
  const json taken = daemon.call("snapshot.take", {{"name", "well"}});
  EXPECT_TRUE(complete_but_for_missed(taken)) << taken;
  EXPECT_EQ(numbers_in(taken["path"].get<std::string>(), truth.pid()), from_to(1, 1000));
}

TEST(SnapshotFault, KeepsTheHistoryInTheRecorderWithoutDiskSpace) {
  Tmpfs disk("size=4m");
  WaitingTruth truth({"numbered", "20000"});
  Daemon daemon(flight_config_for({truth.pid()}, {{"directory", disk.path()}}));
  truth.act();
  const Finished taken = daemon.ctl({"snapshot", "take", "--name", "kept"});
  EXPECT_EQ(taken.exit_code, 74);
  EXPECT_THAT(taken.err, HasSubstr("not enough room in " + disk.path().string()));
  EXPECT_TRUE(empty(disk.path()));
  disk.remount("size=64m");
  daemon.ctl_ok({"snapshot", "take", "--name", "kept"});
  EXPECT_EQ(numbers_in(disk.path() / "kept", truth.pid()), from_to(1, 20000));
}

TEST(SnapshotFault, LeavesNothingBehindWhenTheDiskFillsUp) {
  Tmpfs disk("size=64m");
  Daemon daemon(flight_config({{"directory", disk.path()}, {"buffer_kb", 16384}}));
  run_truth({"--cpu", "0", "numbered", "60000"});
  RpcConnection client(daemon.socket());
  {
    const HeldThread writer = hold_writer(daemon);
    client.send_bytes(
        R"({"jsonrpc":"2.0","id":1,"method":"snapshot.take","params":{"name":"full"}})"
        "\n");
    ASSERT_TRUE(eventually([&] { return !daemon.call("snapshot.list")["writing"].empty(); }));
    disk.fill("filler");
    fs::resize_file(disk.path() / "filler", fs::file_size(disk.path() / "filler") - (2U << 20));
  }
  const json answer = json::parse(client.read_line().value_or("{}"));
  ASSERT_TRUE(answer.contains("error")) << answer;
  EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr("No space left on device"));
  EXPECT_EQ(answer["error"]["data"]["exit_code"], 74);
  fs::remove(disk.path() / "filler");
  EXPECT_TRUE(empty(disk.path()));
  EXPECT_EQ(daemon.call("status")["flight"]["frozen"], 0);
  expect_well(daemon);
}

TEST(SnapshotFault, LeavesNothingBehindWithoutFreeInodes) {
  Tmpfs disk("size=64m,nr_inodes=5");
  Daemon daemon(flight_config({{"directory", disk.path()}}));
  run_truth({"numbered", "1000"});
  const Finished taken = daemon.ctl({"snapshot", "take"});
  EXPECT_EQ(taken.exit_code, 74);
  EXPECT_THAT(taken.err, HasSubstr("No space left on device"));
  EXPECT_TRUE(empty(disk.path()));
  EXPECT_TRUE(daemon.logged("No space left on device"));
  disk.remount("nr_inodes=1000");
  expect_well(daemon);
}

TEST(SnapshotFault, ReportsADirectoryThatCannotBeWritten) {
  Tmpfs disk("size=64m");
  Daemon daemon(flight_config({{"directory", disk.path() / "d"}}));
  fs::rename(disk.path() / "d", disk.path() / "elsewhere");
  disk.make_read_only();
  const Finished missing = daemon.ctl({"snapshot", "take"});
  EXPECT_EQ(missing.exit_code, 74);
  EXPECT_THAT(missing.err, HasSubstr("cannot make the directory " + disk.path().string() + "/d"));
  disk.remount("rw");
  fs::create_directory(disk.path() / "d");
  disk.make_read_only();
  const Finished read_only = daemon.ctl({"snapshot", "take"});
  EXPECT_EQ(read_only.exit_code, 74);
  EXPECT_THAT(read_only.err, HasSubstr("cannot write to the directory " + disk.path().string()));
  disk.remount("rw");
  expect_well(daemon);
}

TEST(SnapshotFault, CannotBeDeletedWhileItIsWritten) {
  Daemon daemon(flight_config());
  {
    const HeldThread writer = hold_writer(daemon);
    daemon.call("snapshot.take", {{"name", "busy"}, {"wait", false}});
    const json error = daemon.call_error("snapshot.delete", {{"name", "busy"}});
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("is being written"));
    EXPECT_EQ(daemon.call("snapshot.list")["writing"], json::array({"busy"}));
  }
  ASSERT_TRUE(eventually([&] { return daemon.call("snapshot.list")["writing"].empty(); }));
  EXPECT_EQ(daemon.call("snapshot.delete", {{"name", "busy"}})["deleted"], "busy");
  EXPECT_EQ(daemon.call_error("snapshot.delete", {{"name", "busy"}})["data"]["exit_code"], 64);
}

TEST(SnapshotFault, TakesASecondSnapshotWithASpareBank) {
  WaitingTruth truth({"numbered", "1000"});
  Daemon daemon(flight_config_for({truth.pid()}, {{"banks", 3}}));
  {
    const HeldThread writer = hold_writer(daemon);
    daemon.call("snapshot.take", {{"name", "first"}, {"wait", false}});
    truth.act();
    daemon.call("snapshot.take", {{"name", "second"}, {"wait", false}});
    EXPECT_EQ(daemon.call("snapshot.list")["writing"], json::array({"first", "second"}));
  }
  ASSERT_TRUE(eventually([&] { return daemon.call("snapshot.list")["writing"].empty(); }));
  const json list = daemon.call("snapshot.list")["snapshots"];
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0]["name"], "first");
  EXPECT_TRUE(complete_but_for_missed(list[0])) << list[0];
  EXPECT_TRUE(complete_but_for_missed(list[1])) << list[1];
  EXPECT_EQ(numbers_in(list[0]["path"].get<std::string>(), truth.pid()).size(), 0U);
  EXPECT_EQ(numbers_in(list[1]["path"].get<std::string>(), truth.pid()), from_to(1, 1000));
}

TEST(SnapshotFault, ContinuesWhenItsClientDisconnects) {
  Daemon daemon(flight_config());
  HeldThread writer = hold_writer(daemon);
  {
    RpcConnection client(daemon.socket());
    client.send_bytes(R"({"jsonrpc":"2.0","id":1,"method":"snapshot.take","params":{"name":"x"}})"
                      "\n");
    ASSERT_TRUE(eventually([&] { return !daemon.call("snapshot.list")["writing"].empty(); }));
  }
  daemon.call("version");
  writer.release();
  EXPECT_TRUE(eventually([&] { return fs::exists(daemon.directory() / "snapshots/x"); }));
}

TEST(SnapshotFault, SigtermWaitsUntilItIsOnDisk) {
  Daemon daemon(flight_config());
  HeldThread writer = hold_writer(daemon);
  const json taken = daemon.call("snapshot.take", {{"wait", false}});
  daemon.send(SIGTERM);
  ASSERT_TRUE(daemon.logged("stopping"));
  writer.release();
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const fs::path path = taken["path"].get<std::string>();
  ASSERT_TRUE(fs::exists(path)) << daemon.log();
  EXPECT_TRUE(complete_but_for_missed(manifest_of(path)));
}

// Kills the daemon while it writes a snapshot called NAME.
void interrupt_snapshot(Daemon& daemon, const std::string& name) {
  const fs::path partial = daemon.directory() / "snapshots" / (name + ".partial");
  HeldThread writer = hold_writer(daemon);
  daemon.call("snapshot.take", {{"name", name}, {"wait", false}});
  // Continues the writer step by step, until it has begun and is not done.
  while (!fs::exists(partial)) writer.step();
  daemon.send(SIGKILL);
  writer.release();
  daemon.end(SIGKILL);
}

TEST(SnapshotFault, IsWrittenByTheNextDaemonWhenInterruptedByAKill) {
  WaitingTruth truth({"numbered", "1000"});
  Daemon daemon(flight_config_for({truth.pid()}));
  truth.act();
  interrupt_snapshot(daemon, "interrupted");
  const fs::path snapshots = daemon.directory() / "snapshots";
  ASSERT_TRUE(fs::exists(snapshots / "interrupted.partial"));
  fs::create_directories(snapshots / "other.partial/ctf");
  daemon.start();
  json list;
  ASSERT_TRUE(eventually([&] {
    list = daemon.call("snapshot.list")["snapshots"];
    return !list.empty();
  })) << daemon.log();
  EXPECT_FALSE(fs::exists(snapshots / "interrupted.partial"));
  EXPECT_TRUE(fs::exists(snapshots / "other.partial")) << "another program's directory stays";
  EXPECT_TRUE(daemon.logged("interrupted.partial"));
  EXPECT_TRUE(list[0]["name"].get<std::string>().starts_with("recovered-")) << list;
  EXPECT_TRUE(complete_but_for_missed(list[0])) << list;
  EXPECT_EQ(numbers_in(list[0]["path"].get<std::string>(), truth.pid()), from_to(1, 1000));
  EXPECT_TRUE(eventually([&] { return daemon.call("status")["flight"]["frozen"] == 0; }));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// Nothing was recorded while it could be, which is something to know.
TEST(SnapshotFault, IsWrittenByTheNextDaemonAlsoWithoutRecords) {
  WaitingTruth truth({"numbered", "1000"});
  Daemon daemon(flight_config_for({truth.pid()}));
  daemon.call("snapshot.take", {{"name", "before"}});
  interrupt_snapshot(daemon, "empty");
  const fs::path snapshots = daemon.directory() / "snapshots";
  ASSERT_TRUE(fs::exists(snapshots / "empty.partial"));
  for (int starts = 0; starts < 2; ++starts) {
    daemon.start();
    EXPECT_TRUE(eventually([&] {
      return daemon.call("snapshot.list")["snapshots"].size() == 2 &&
             daemon.call("status")["flight"]["frozen"] == 0;
    })) << daemon.log();
    daemon.end(SIGKILL);
  }
  EXPECT_FALSE(fs::exists(snapshots / "empty.partial"));
  daemon.start();
  const json recovered = daemon.call("snapshot.list")["snapshots"].at(1);
  EXPECT_TRUE(recovered["name"].get<std::string>().starts_with("recovered-")) << recovered;
  EXPECT_TRUE(complete_but_for_missed(recovered)) << recovered;
  EXPECT_EQ(numbers_in(recovered["path"].get<std::string>(), truth.pid()).size(), 0U);
}

}  // namespace
}  // namespace ktraced::live
