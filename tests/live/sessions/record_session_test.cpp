// SPDX-License-Identifier: BSD-2-Clause
// `ktracectl record` has a session of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <set>

#include "harness/client/show.h"
#include "harness/client/stream.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

json flight_of_numbered_calls() {
  return {{"events", numbered_calls()},
          {"flight", {{"enabled", true}, {"buffer_kb", 16384}}},
          {"stream", {{"buffer_kb", 4096}}}};
}

// Two recordings at a time, and the recorder beside them.
TEST(RecordSession, HoldsItsOwnCommandAlone) {
  json config = flight_of_numbered_calls();
  config["filter"] = {{"follow", {::getpid()}}};
  Daemon daemon(config);
  const json filter = daemon.call("filter.show");
  const std::string paths[] = {daemon.directory() / "one", daemon.directory() / "two"};
  // Each command waits for its input, so both recordings run when the first call happens.
  const auto record = [&](const std::string& path, const char* calls) {
    return std::make_unique<Process>(
        daemon.ctl_command({"record", "-o", path, "--", "sh", "-c",
                            "read go; exec " + kTruthProgram + " numbered " + calls}));
  };
  const auto one = record(paths[0], "3000"), two = record(paths[1], "2000");
  ASSERT_TRUE(reaches([&] { return daemon.call("session.list")["sessions"].size(); }, 3));
  WaitingTruth bystander({"numbered", "1000"});
  one->write_input("\n");
  two->write_input("\n");
  bystander.act();
  const Finished first = one->wait(), second = two->wait();
  ASSERT_EQ(first.exit_code, 0) << first.err;
  ASSERT_EQ(second.exit_code, 0) << second.err;

  const pid_t pids[] = {truth_of(first)["pid"], truth_of(second)["pid"]};
  const uint64_t counts[] = {3000, 2000};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(numbers_in(paths[i], pids[i]), from_to(1, counts[i]));
    EXPECT_THAT(numbers_in(paths[i], pids[1 - i]), IsEmpty());
    EXPECT_THAT(numbers_in(paths[i], bystander.pid()), IsEmpty());
    const json manifest = manifest_of(paths[i]);
    EXPECT_TRUE(complete_but_for_missed(manifest)) << manifest["incomplete_because"];
    EXPECT_EQ(manifest["config"]["filter"]["follow"].size(), 1U) << manifest["config"];
  }
  EXPECT_EQ(daemon.call("filter.show"), filter);
  const std::string snapshot = daemon.call("snapshot.take")["path"];
  EXPECT_EQ(numbers_in(snapshot, pids[0]), from_to(1, 3000));
  EXPECT_EQ(numbers_in(snapshot, pids[1]), from_to(1, 2000));
  EXPECT_EQ(numbers_in(snapshot, bystander.pid()), from_to(1, 1000));
  EXPECT_EQ(daemon.call("session.list")["sessions"].size(), 1U) << "the recorder";
}

// Ends of processes are few enough that none is lost, whatever the rest of the machine does.
TEST(RecordSession, OfAllHasEverythingWhileTheCommandRuns) {
  Daemon daemon(flight_of_numbered_calls());
  daemon.set_filter({{"comm", {"nobody"}}});
  WaitingTruth bystander({"numbered", "1000"});
  const std::string path = daemon.directory() / "recording";
  Process recording(daemon.ctl_command({"record", "-o", path, "--all", "--event",
                                        "sched_process_exit", "--", "sh", "-c", "read go"}));
  ASSERT_TRUE(eventually([&] { return fs::exists(path + ".partial/manifest.json"); }));
  bystander.act();
  recording.write_input("\n");
  const Finished finished = recording.wait();
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_FALSE(Trace(show({path}).lines).events("sched_process_exit", bystander.pid()).empty());
  EXPECT_TRUE(complete_but_for_missed(manifest_of(path)));
}

TEST(RecordSession, HasTheEventsAndTasksThatItsOptionsName) {
  Daemon daemon(json{{"events", {{"process", true}}}, {"flight", {{"enabled", true}}}});
  WaitingTruth chosen({"numbered", "700"}), other({"numbered", "700"});
  const std::string path = daemon.directory() / "recording";
  Process recording(daemon.ctl_command({"record", "-o", path, "--event", "sys_enter", "--syscall",
                                        "getpriority", "--pid", std::to_string(chosen.pid())}));
  ASSERT_TRUE(eventually([&] { return fs::exists(path + ".partial/manifest.json"); }));
  other.act();
  chosen.act();
  recording.send(SIGINT);
  ASSERT_EQ(recording.wait().exit_code, 0);
  EXPECT_EQ(numbers_in(path, chosen.pid()), from_to(1, 700));
  const json manifest = manifest_of(path);
  EXPECT_EQ(manifest["records"], 700) << manifest["cpus"];
  EXPECT_EQ(manifest["config"]["events"], json::array({"sys_enter"}));
}

TEST(RecordSession, EndsWhenItsClientIsKilled) {
  Daemon daemon(flight_of_numbered_calls());
  const fs::path path = daemon.directory() / "recording";
  Process recording(daemon.ctl_command({"record", "-o", path, "--name", "mine", "--", "cat"}));
  const auto session = [&]() -> json {
    const json list = daemon.call("session.list")["sessions"];
    for (const json& each : list)
      if (each["name"] == "mine") return each;
    return json();
  };
  ASSERT_TRUE(eventually([&] { return session().is_object(); }));
  EXPECT_EQ(session()["pid"], recording.pid());
  EXPECT_EQ(session()["filter"]["follow"].size(), 1U);
  recording.send(SIGKILL);
  recording.close_input();  // for what it ran
  EXPECT_TRUE(eventually([&] { return session().is_null(); }));
}

// The daemon ends in this way while a recording and a stream are there. Both clients give the
// reason. Returns the path of the recording.
std::string record_until(Daemon& daemon, const std::function<void()>& end_daemon,
                         const std::string& reason) {
  const std::string path = daemon.directory() / "recording";
  Process recording(daemon.ctl_command({"record", "-o", path})),
      stream(daemon.ctl_command({"stream"}));
  EXPECT_TRUE(eventually([&] { return fs::exists(path + ".partial/manifest.json"); }));
  EXPECT_TRUE(reaches([&] { return daemon.call("status")["subscribers"].size(); }, 2));
  end_daemon();
  for (Process* client : {&recording, &stream}) {
    const Finished finished = client->wait();
    EXPECT_EQ(finished.exit_code, 69);
    EXPECT_THAT(finished.err, HasSubstr(reason));
  }
  return path;
}

TEST(RecordSession, SaysThatTheDaemonWasStoppedAsAStreamDoes) {
  Daemon daemon(flight_of_numbered_calls());
  const std::string reason = "ktraced has ended the stream: it was stopped";
  const std::string path =
      record_until(daemon, [&] { EXPECT_EQ(daemon.stop().exit_code, 0); }, reason);
  EXPECT_THAT(manifest_of(path)["incomplete_because"].dump(), HasSubstr(reason));
}

TEST(RecordSession, SaysThatTheDaemonWasKilledAsAStreamDoes) {
  Daemon daemon(flight_of_numbered_calls());
  const std::string path =
      record_until(daemon, [&] { daemon.end(SIGKILL); }, "the stream breaks off: ktraced has died");
  EXPECT_EQ(manifest_of(path)["complete"], false);
  daemon.start();
  EXPECT_EQ(daemon.call("session.list")["sessions"].size(), 1U) << "the recorder";
}

}  // namespace
}  // namespace ktraced::live
