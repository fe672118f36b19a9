// SPDX-License-Identifier: BSD-2-Clause
// Snapshots of the flight recorder, taken while tracing goes on.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of(const json& list) {
  std::vector<std::string> names;
  for (const json& snapshot : list["snapshots"]) names.push_back(snapshot["name"]);
  return names;
}

// Except for the daemon's lock.
size_t entries_in(const fs::path& directory) {
  return static_cast<size_t>(std::ranges::count_if(
      fs::directory_iterator(directory),
      [](const auto& entry) { return entry.path().filename() != ".ktraced.lock"; }));
}

TEST(Snapshot, IsOnDiskWhenTheCommandReturns) {
  WaitingTruth truth({"numbered", "1000"});
  Daemon daemon(flight_config_for({truth.pid()}));
  truth.act();
  const json taken = json::parse(
      daemon.ctl_ok({"--json", "snapshot", "take", "--name", "incident", "--reason", "slow"}));
  EXPECT_EQ(taken["name"], "incident");
  EXPECT_TRUE(complete_but_for_missed(taken));
  EXPECT_GE(taken["records"], 2000);
  const fs::path path = taken["path"].get<std::string>();
  EXPECT_EQ(path, daemon.directory() / "snapshots/incident");
  EXPECT_EQ(numbers_in(path, truth.pid()), from_to(1, 1000));

  const json listed = json::parse(daemon.ctl_ok({"--json", "snapshot", "list"}));
  ASSERT_THAT(names_of(listed), ElementsAre("incident"));
  EXPECT_EQ(listed["snapshots"][0]["reason"], "slow");
  EXPECT_EQ(listed["snapshots"][0]["records"], taken["records"]);
  EXPECT_THAT(daemon.ctl_ok({"snapshot", "list"}), HasSubstr("complete"));
  EXPECT_EQ(daemon.ctl_ok({"snapshot", "delete", "incident"}), "deleted: incident\n");
  EXPECT_EQ(daemon.ctl_ok({"snapshot", "list"}), "no snapshots\n");
  EXPECT_FALSE(fs::exists(path));
}

TEST(Snapshot, IsShownFromAnArchiveAsFromItsDirectory) {
  WaitingTruth truth({"numbered", "1000"});
  Daemon daemon(flight_config_for({truth.pid()}));
  truth.act();
  daemon.ctl_ok({"snapshot", "take", "incident"});
  const Finished before = daemon.ctl({"show", "incident"});
  EXPECT_NE(before.out, "");
  const fs::path archive = daemon.directory() / "sent.tar.zst";
  const Finished exported = daemon.ctl({"snapshot", "export", "incident", "-o", archive});
  EXPECT_EQ(exported.exit_code, 0) << exported.err;
  EXPECT_EQ(exported.out, "");
  daemon.ctl_ok({"snapshot", "delete", "incident"});
  const Finished after = daemon.ctl({"show", archive});
  EXPECT_EQ(after.exit_code, before.exit_code) << after.err;
  EXPECT_EQ(after.out, before.out);
  EXPECT_THAT(after.err, HasSubstr(archive.string() + ": snapshot of "));
  const Finished again = daemon.ctl({"snapshot", "export", archive, "-o", "-"});
  EXPECT_EQ(again.exit_code, 65) << "an archive is no directory";
  EXPECT_EQ(again.out, "");
}

TEST(Snapshot, NamesTheOneBeforeIt) {
  WaitingTruth truth({"numbered", "1000"});
  Daemon daemon(flight_config_for({truth.pid()}));
  truth.act();
  EXPECT_THAT(daemon.ctl_ok({"snapshot", "take", "first", "--with-previous"}),
              HasSubstr("no snapshot has what came right before it\n"));
  const fs::path directory = daemon.directory() / "snapshots";
  const std::string both = fmt::format(
      "what came before is in {}: ktracectl show {} {}\n", (directory / "first").string(),
      (directory / "first").string(), (directory / "second").string());
  const std::string taken = daemon.ctl_ok({"snapshot", "take", "second", "--with-previous"});
  EXPECT_THAT(taken, HasSubstr(both));
  EXPECT_THAT(taken, HasSubstr("\nboth, from "));
  ASSERT_TRUE(eventually([&] {
    const json flight = daemon.call("status")["flight"];
    return flight["last_snapshot"]["name"] == "second" &&
           flight["last_snapshot"]["end_ns"] == flight["since_ns"];
  }));
  EXPECT_THAT(daemon.ctl_ok({"status"}), HasSubstr("they are saved in snapshot second\n"));

  daemon.send(SIGUSR1);
  json list;
  ASSERT_TRUE(
      reaches([&] { return (list = daemon.call("snapshot.list")["snapshots"]).size(); }, 3));
  std::map<std::string, json> previous;
  for (const json& snapshot : list)
    previous[snapshot["reason"] == "SIGUSR1" ? "third" : snapshot["name"].get<std::string>()] =
        snapshot["previous"];
  EXPECT_EQ(previous["first"], nullptr);
  EXPECT_EQ(previous["second"], "first");
  EXPECT_EQ(previous["third"], "second");
  for (const json& snapshot : list)
    if (snapshot["reason"] == "SIGUSR1") {
      EXPECT_TRUE(daemon.logged(fmt::format("ktracectl show {} {}", (directory / "second").string(),
                                            snapshot["path"].get<std::string>())));
    }

  const Finished shown = daemon.ctl({"show", directory / "second"});
  EXPECT_THAT(shown.err, HasSubstr("what came before is in first: ktracectl show "));
  EXPECT_THAT(daemon.ctl({"show", directory / "first", directory / "second"}).err,
              testing::Not(HasSubstr("what came before")));
  daemon.ctl_ok({"snapshot", "delete", "first"});
  EXPECT_THAT(daemon.ctl({"show", directory / "second"}).err,
              testing::Not(HasSubstr("what came before")));
}

TEST(Snapshot, IsCountedTogetherWithTheOneBeforeIt) {
  WaitingTruth truth({"numbered", "1000"});
  Daemon daemon(flight_config_for({truth.pid()}));
  truth.act();
  const json first = daemon.call("snapshot.take", {{"name", "first"}});
  EXPECT_EQ(first["with_previous"], nullptr);
  const json second =
      json::parse(daemon.ctl_ok({"--json", "snapshot", "take", "second", "--with-previous"}));
  EXPECT_EQ(second["previous"], "first");
  const json both = second["with_previous"];
  EXPECT_EQ(both["path"], first["path"]);
  EXPECT_EQ(both["show"], fmt::format("ktracectl show {} {}", first["path"].get<std::string>(),
                                      second["path"].get<std::string>()));
  EXPECT_EQ(both["records"], first["records"].get<uint64_t>() + second["records"].get<uint64_t>());
  EXPECT_EQ(both["complete"], first["complete"] == true && second["complete"] == true) << both;
  std::map<std::string, json> windows;
  const json list = daemon.call("snapshot.list")["snapshots"];
  for (const json& snapshot : list) windows[snapshot["name"]] = snapshot["window"];
  EXPECT_EQ(both["window"]["begin_ns"], windows["first"]["begin_ns"]);
  EXPECT_EQ(both["window"]["end_ns"], windows["second"]["end_ns"]);
}

TEST(Snapshot, NamesTheOneBeforeItAlsoIfARingHasOverwrittenRecords) {
  WaitingTruth truth({"--cpu", "0", "numbered", "20000"});
  Daemon daemon(flight_config_for({truth.pid()}, {{"buffer_kb", 64}}));
  if (daemon.call("status")["events"]["sys_enter"]["per_cpu"].size() < 2)
    GTEST_SKIP() << "needs a second CPU";
  daemon.call("snapshot.take", {{"name", "first"}});
  const fs::path first = daemon.directory() / "snapshots/first";
  truth.act();
  EXPECT_THAT(daemon.ctl_ok({"snapshot", "take", "second", "--with-previous"}),
              HasSubstr("what came before is in " + first.string() + ": ktracectl show "));
  const fs::path second = daemon.directory() / "snapshots/second";
  const json manifest = manifest_of(second);
  EXPECT_GT(manifest["overwritten"], 0);
  EXPECT_EQ(manifest["previous"], "first");
  EXPECT_EQ(manifest["since_ns"], manifest_of(first)["end_ns"]);
  EXPECT_GT(manifest["begin_ns"], manifest["since_ns"]);
  std::map<std::string, json> previous;
  const json list = daemon.call("snapshot.list")["snapshots"];
  for (const json& snapshot : list) previous[snapshot["name"]] = snapshot["previous"];
  EXPECT_EQ(previous["second"], "first");
  EXPECT_THAT(daemon.ctl({"show", second}).err, HasSubstr("what came before is in first: "));
  const json report = json::parse(daemon.ctl_ok({"--json", "report", "syscalls", first, second}));
  for (const json& caveat : report["caveats"])
    EXPECT_THAT(caveat.get<std::string>(), testing::Not(HasSubstr("nothing is in the traces")));
}

TEST(Snapshot, DoesNotNameTheOneBeforeItIfEveryRingHasOverwrittenRecords) {
  Daemon daemon(flight_config({{"buffer_kb", 64}}));
  daemon.call("snapshot.take", {{"name", "first"}});
  const json cpus = daemon.call("status")["events"]["sys_enter"]["per_cpu"];
  for (const json& cpu : cpus) run_truth({"--cpu", cpu["cpu"].dump(), "numbered", "20000"});
  EXPECT_THAT(daemon.ctl_ok({"snapshot", "take", "second", "--with-previous"}),
              HasSubstr("no snapshot has what came right before it\n"));
  const json manifest = manifest_of(daemon.directory() / "snapshots/second");
  for (const json& cpu : manifest["cpus"]) EXPECT_GT(cpu["overwritten"], 0) << cpu;
  EXPECT_FALSE(manifest.contains("previous"));
  EXPECT_FALSE(manifest.contains("since_ns"));
  const json list = daemon.call("snapshot.list")["snapshots"];
  for (const json& snapshot : list) EXPECT_EQ(snapshot["previous"], nullptr) << snapshot;
}

TEST(Snapshot, DoesNotNameTheOneBeforeItThatTheLimitRemoves) {
  Daemon daemon(flight_config({{"max_snapshots", 1}}));
  daemon.call("snapshot.take", {{"name", "a"}});
  EXPECT_THAT(daemon.ctl_ok({"snapshot", "take", "b", "--with-previous"}),
              HasSubstr("no snapshot has what came right before it\n"));
  EXPECT_THAT(names_of(daemon.call("snapshot.list")), ElementsAre("b"));
}

TEST(Snapshot, IsTakenOnSignal) {
  WaitingTruth truth({"numbered", "1000"});
  Daemon daemon(flight_config_for({truth.pid()}));
  truth.act();
  daemon.send(SIGUSR1);
  json list;
  ASSERT_TRUE(
      reaches([&] { return (list = daemon.call("snapshot.list")["snapshots"]).size(); }, 1));
  EXPECT_EQ(list[0]["reason"], "SIGUSR1");
  EXPECT_EQ(list[0]["requested_by"], "signal");
  EXPECT_TRUE(list[0]["name"].get<std::string>().starts_with("snapshot-"));
  EXPECT_TRUE(daemon.logged(fmt::format(
      R"(uid {}, pid {} requests snapshot.take {{"signal":"SIGUSR1"}})", ::getuid(), ::getpid())));
  EXPECT_EQ(numbers_in(list[0]["path"].get<std::string>(), truth.pid()), from_to(1, 1000));
}

TEST(Snapshot, IsTakenOverTheSocketByAThirdProgram) {
  Daemon daemon(flight_config());
  constexpr const char* kClient = R"(
import json, socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
request = {"jsonrpc": "2.0", "id": 7, "method": "snapshot.take", "params": {"reason": "python"}}
client.sendall(json.dumps(request).encode() + b"\n")
client.shutdown(socket.SHUT_WR)
print(client.makefile().readline(), end="")
)";
  const Finished python = run({"python3", "-c", kClient, daemon.socket()});
  ASSERT_EQ(python.exit_code, 0) << python.err;
  const json answer = json::parse(python.out);
  EXPECT_EQ(answer["id"], 7);
  EXPECT_TRUE(complete_but_for_missed(answer["result"])) << answer;
  EXPECT_EQ(daemon.call("snapshot.list")["snapshots"][0]["reason"], "python");
}

TEST(Snapshot, IsRefusedWhileTheRecorderIsDisabled) {
  Daemon daemon(flight_config({{"enabled", false}}));
  const Finished taken = daemon.ctl({"snapshot", "take"});
  EXPECT_EQ(taken.exit_code, 69);
  EXPECT_THAT(taken.err, HasSubstr("flight recorder is off"));
  daemon.send(SIGUSR1);
  EXPECT_TRUE(daemon.logged("no snapshot on SIGUSR1: the flight recorder is off"));
}

// A reason could forge lines of the log.
TEST(Snapshot, IsRefusedWithABadNameOrReason) {
  WaitingTruth truth({"numbered", "1000"});
  Daemon daemon(flight_config_for({truth.pid()}));
  truth.act();
  for (const char* name : {"../a", "\x1b[2J", "a.partial"}) {
    const Finished taken = daemon.ctl({"snapshot", "take", "--name", name});
    EXPECT_EQ(taken.exit_code, 64) << name;
    EXPECT_EQ(std::ranges::count(taken.err, '\n'), 1) << taken.err;
    EXPECT_EQ(daemon.ctl({"snapshot", "delete", name}).exit_code, 64) << name;
  }
  for (const char* reason : {"evil\x1b[2J", "evil\n[error] line", "\u009b2J", "\u202etxt"}) {
    const Finished taken = daemon.ctl({"snapshot", "take", "--reason", reason});
    EXPECT_EQ(taken.exit_code, 64) << reason;
    EXPECT_THAT(taken.err, HasSubstr("the reason of a snapshot must be one line of text"));
  }
  // What was requested is in the log as JSON, in one line.
  EXPECT_THAT(daemon.log(), testing::AllOf(HasSubstr("evil"), testing::Not(HasSubstr("\x1b[2J")),
                                           testing::Not(HasSubstr("\n[error] line"))));
  EXPECT_EQ(entries_in(daemon.directory() / "snapshots"), 0U);
  EXPECT_EQ(take_numbers(daemon, truth.pid()), from_to(1, 1000));
  daemon.call("snapshot.take", {{"name", "one"}});
  const json error = daemon.call_error("snapshot.take", {{"name", "one"}});
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("there is a snapshot 'one' already"));
  EXPECT_EQ(error["data"]["exit_code"], 64);
}

TEST(Snapshot, IgnoresRecordingsInTheSameDirectoryAlsoBeyondTheLimit) {
  Daemon daemon(flight_config({{"max_snapshots", 1}}));
  daemon.call("snapshot.take", {{"name", "a"}});
  const fs::path path = daemon.directory() / "snapshots/mine";
  ASSERT_EQ(daemon.ctl({"record", "-o", path, "--", "true"}).exit_code, 0);
  daemon.call("snapshot.take", {{"name", "b"}});
  EXPECT_THAT(names_of(daemon.call("snapshot.list")), ElementsAre("b"));
  EXPECT_EQ(daemon.call("status")["flight"]["snapshots"], 1);
  const Finished deleted = daemon.ctl({"snapshot", "delete", "mine"});
  EXPECT_EQ(deleted.exit_code, 64);
  EXPECT_THAT(deleted.err, HasSubstr("is a recording, not a snapshot"));
  EXPECT_TRUE(fs::exists(path));
}

TEST(Snapshot, RemovesTheOldestButNotItselfBeyondTheTotalSize) {
  Daemon daemon(flight_config({{"max_total_mb", 1}}));
  daemon.call("snapshot.take", {{"name", "small"}});
  run_truth({"numbered", "50000"});
  daemon.call("snapshot.take", {{"name", "large"}});
  EXPECT_THAT(names_of(daemon.call("snapshot.list")), ElementsAre("large"));
}

}  // namespace
}  // namespace ktraced::live
