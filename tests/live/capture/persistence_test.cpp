// SPDX-License-Identifier: BSD-2-Clause
// The history outlives the daemon.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <string>

#include "harness/client/show.h"
#include "harness/client/stream.h"
#include "harness/client/stream_output.h"
#include "harness/machine/bpf_view.h"
#include "harness/machine/temp_dir.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

Trace trace_of(const json& snapshot) {
  Shown shown = show({snapshot["path"].get<std::string>()});
  EXPECT_EQ(shown.finished.exit_code, 0) << shown.finished.err;
  return Trace(std::move(shown.lines));
}

TEST(Persistence, KeepsAKilledDaemonsFlightHistoryForTheNextSnapshot) {
  WaitingTruth before({"numbered", "2000"});
  WaitingTruth during({"numbered", "3000"});
  WaitingTruth after({"numbered", "1000"});
  Daemon daemon(
      flight_config_for({before.pid(), during.pid(), after.pid()}, {{"buffer_kb", 4096}}));
  before.act();
  daemon.end(SIGKILL);
  during.act();
  daemon.start();
  after.act();

  const json snapshot = daemon.call("snapshot.take");
  EXPECT_TRUE(complete_but_for_missed(snapshot)) << snapshot;
  const Trace trace = trace_of(snapshot);
  EXPECT_EQ(call_numbers(trace, before.pid()), from_to(1, 2000));
  EXPECT_EQ(call_numbers(trace, during.pid()), from_to(1, 3000));
  EXPECT_EQ(call_numbers(trace, after.pid()), from_to(1, 1000));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST(Persistence, LeavesNoGapInTheFlightHistoryBetweenDaemons) {
  WaitingTruth busy({"numbered", "0", "500"});
  Daemon daemon(flight_config_for({busy.pid()}, {{"buffer_kb", 8192}}));
  daemon.disable({"sys_exit"});
  busy.go();
  const auto records_more = [&] {
    const auto recorded = [&] { return daemon.event_status("sys_enter")["recorded"].get<long>(); };
    const long before = recorded();
    return eventually([&] { return recorded() > before + 100; });
  };
  ASSERT_TRUE(records_more());
  daemon.end(SIGKILL);
  daemon.start();
  ASSERT_TRUE(records_more());
  const json snapshot = daemon.call("snapshot.take");
  busy.finish();
  EXPECT_TRUE(complete_but_for_missed(snapshot)) << snapshot;
  const std::vector<uint64_t> shown = call_numbers(trace_of(snapshot), busy.pid());
  EXPECT_GT(shown.size(), 10U);
  EXPECT_EQ(shown, from_to(1, shown.size()));
}

json output_of_numbered_calls(pid_t pid, const std::filesystem::path& directory, int buffer_kb) {
  json config = for_processes({pid}, output_config(directory));
  config["stream"]["buffer_kb"] = buffer_kb;
  return config;
}

TEST(Persistence, KeepsUnreadRecordsOfTheOutputWhenTheRingSizeChanges) {
  TempDir directory;
  const auto traces = directory.path() / "d";
  WaitingTruth during({"numbered", "2000"});
  Daemon daemon(output_of_numbered_calls(during.pid(), traces, 1024));
  daemon.end(SIGKILL);
  during.act();
  daemon.write_config(output_of_numbered_calls(during.pid(), traces, 256));
  daemon.start();
  EXPECT_EQ(daemon.call("session.show", {{"session", "output"}})["ring_bytes"], 256 * 1024);
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_EQ(show_calls(traces_in(traces), during.pid()).numbers, from_to(1, 2000));
}

TEST(Persistence, ReportsLossesOfTheOutputBetweenTwoDaemons) {
  constexpr uint64_t kCalls = 20'000;
  TempDir directory;
  const auto traces = directory.path() / "d";
  WaitingTruth during({"numbered", std::to_string(kCalls)});
  Daemon daemon(output_of_numbered_calls(during.pid(), traces, 64));
  daemon.end(SIGKILL);
  during.act();
  daemon.start();
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const auto all = traces_in(traces);
  const ShownCalls shown = show_calls(all, during.pid());
  EXPECT_GT(lost_in(all), 0U);
  EXPECT_LT(shown.numbers.size(), kCalls);
}

TEST(Persistence, ContinuesTheTraceAfterACleanStopWhenPersistIsSet) {
  WaitingTruth between({"numbered", "500"});
  json config = flight_config_for({between.pid()}, {{"buffer_kb", 1024}});
  config["persist"] = true;
  Daemon daemon(config);
  EXPECT_EQ(daemon.stop().exit_code, 0);
  between.act();
  daemon.start();
  EXPECT_NE(daemon.log().find("adopted what"), std::string::npos) << daemon.log();
  EXPECT_EQ(call_numbers(trace_of(daemon.call("snapshot.take")), between.pid()), from_to(1, 500));
  daemon.end(SIGKILL);
  EXPECT_EQ(run({kDaemonProgram, "--config", daemon.config_file(), "--cleanup"}).exit_code, 0);
}

TEST(Names, AreKnownForEndedThreadsThatStartedBeforeTheDaemon) {
  WaitingTruth truth({"--comm", "early-bird", "numbered", "10"});
  Daemon daemon(flight_config_for({truth.pid()}, {{"buffer_kb", 1024}}));
  truth.act();
  const Trace trace = trace_of(daemon.call("snapshot.take"));
  const std::vector<json> events = trace.events("sys_enter", truth.pid());
  ASSERT_EQ(events.size(), 10U);
  EXPECT_EQ(events.front()["comm"], "early-bird");
}

// The programs that are attached and pinned.
std::set<std::string> pinned_links(const Daemon& daemon) {
  std::set<std::string> links;
  for (const auto& entry : std::filesystem::directory_iterator(daemon.pinned_object() / "links"))
    links.insert(entry.path().filename());
  return links;
}

// The filter needs programs that the earlier daemon did not have.
TEST(Persistence, LeavesWhatIsAttachedAsItWasWhenAStartFails) {
  const json config = {{"flight", {{"enabled", true}, {"buffer_kb", 64}}}};
  Daemon daemon(config);
  daemon.end(SIGKILL);
  const std::set<std::string> before = pinned_links(daemon);
  json failing = config;
  failing["filter"] = {{"follow", {4194303}}};
  daemon.write_config(failing);
  EXPECT_THROW(daemon.start(), std::runtime_error);
  EXPECT_EQ(pinned_links(daemon), before);
  daemon.write_config(config);
  daemon.start();
  EXPECT_TRUE(daemon.logged("adopted what an earlier daemon left running"));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

std::string metrics_at(const std::string& socket) {
  return run({"curl", "--silent", "--unix-socket", socket, "http://localhost/metrics"}).out;
}

json take_snapshot(Daemon& daemon) { return daemon.call("snapshot.take", {{"wait", true}}); }

// As after an upgrade from a daemon with other programs, which was killed.
TEST(Persistence, ReportsWhereUsersLookThatTheHistoryOfAnotherBuildIsLost) {
  TempDir directory;
  const std::string metrics = directory.path() / "metrics.sock";
  WaitingTruth truth({"numbered", "0", "1000"});
  json config = for_processes({truth.pid()}, output_config(directory.path() / "d"));
  config["flight"] = {{"enabled", true}, {"buffer_kb", 1024}};
  config["metrics"] = {{"listen", metrics}};
  Daemon daemon(config);
  truth.go();
  EXPECT_TRUE(daemon.call("status")["replaced"].empty());
  EXPECT_THAT(metrics_at(metrics), HasSubstr("\nktraced_history_lost_seconds 0\n"));
  EXPECT_TRUE(complete_but_for_missed(take_snapshot(daemon)));
  ASSERT_TRUE(eventually([&] { return output_status(daemon)["trace"].is_string(); }));
  daemon.end(SIGKILL);
  const std::string other = "object-0123456789abcdef-2x1024k";
  std::filesystem::rename(daemon.pinned_object(), daemon.pins() / other);
  daemon.start();

  EXPECT_TRUE(daemon.logged("replaced " + other));
  const json replaced = daemon.call("status")["replaced"];
  ASSERT_EQ(replaced.size(), 1U) << replaced;
  EXPECT_EQ(replaced[0]["object"], other);
  EXPECT_THAT(replaced[0]["reason"].get<std::string>(), HasSubstr("of another build"));
  EXPECT_GT(replaced[0]["since_ns"], 0);
  EXPECT_LT(replaced[0]["since_ns"], replaced[0]["until_ns"]);
  EXPECT_THAT(daemon.ctl_ok({"status"}), HasSubstr("lost, except for what is on disk: the last "));
  EXPECT_THAT(metrics_at(metrics), ContainsRegex("\nktraced_history_lost_seconds [0-9.]*[1-9]"));
  const std::string lost = "what " + other + " recorded from ";
  const json first = take_snapshot(daemon);
  EXPECT_EQ(first["complete"], false);
  EXPECT_THAT(first["incomplete_because"].dump(), HasSubstr(lost));
  EXPECT_GE(manifest_of(first["path"].get<std::string>())["begin_ns"], replaced[0]["until_ns"]);
  EXPECT_TRUE(complete_but_for_missed(take_snapshot(daemon)));
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const auto traces = traces_in(directory.path() / "d");
  ASSERT_EQ(traces.size(), 1U) << "and the unfinished one before";
  EXPECT_THAT(manifest_of(traces[0])["incomplete_because"].dump(), HasSubstr(lost));
}

TEST(Persistence, CleanupRemovesWhatAKilledDaemonLeft) {
  Daemon daemon(
      {{"events", {{"sched", true}, {"syscalls", true}}}, {"flight", {{"enabled", true}}}});
  const Stream stream(daemon, {"--event", "mark_victim"});
  const BpfObjects objects = bpf_objects_of(daemon.pid());
  daemon.end(SIGKILL);
  EXPECT_FALSE(still_there(objects).links.empty());
  const Finished cleanup = run({kDaemonProgram, "--config", daemon.config_file(), "--cleanup"});
  EXPECT_EQ(cleanup.exit_code, 0) << cleanup.err;
  EXPECT_NE(cleanup.out.find("removed 1 pinned"), std::string::npos) << cleanup.out;
  EXPECT_FALSE(std::filesystem::exists(daemon.pins()));
  EXPECT_TRUE(all_gone(objects));
}

TEST(Persistence, CleanupNeverClaimsSuccessWithoutDescriptorsToRemoveEverything) {
  Daemon daemon({{"events", {{"sched", true}}}, {"flight", {{"enabled", true}}}});
  daemon.end(SIGKILL);
  int failed = 0;
  for (int limit = 4; std::filesystem::exists(daemon.pins()); ++limit) {
    ASSERT_LT(limit, 64);
    const Finished cleanup = run({"prlimit", "--nofile=" + std::to_string(limit), kDaemonProgram,
                                  "--config", daemon.config_file(), "--cleanup"});
    EXPECT_EQ(cleanup.exit_code == 0, !std::filesystem::exists(daemon.pins()))
        << limit << ": " << cleanup.out << cleanup.err;
    failed += cleanup.exit_code != 0;
  }
  EXPECT_GT(failed, 0);
}

TEST(Persistence, CleanupRemovesTheDeadSocketAndNamesTheHistoryThatStays) {
  TempDir directory;
  json config = {{"events", numbered_calls()},
                 {"flight", {{"enabled", false}, {"directory", directory.path() / "snapshots"}}}};
  config["stream"]["output"] = {{"directory", directory.path() / "stream"}};
  Daemon daemon(config);
  ASSERT_TRUE(
      eventually([&] { return daemon.call("status")["stream"]["output"]["trace"].is_string(); }));
  daemon.end(SIGKILL);
  std::filesystem::create_directories(directory.path() / "snapshots/left.partial/ctf");
  std::filesystem::create_directories(directory.path() / "snapshots/.removing-old/ctf");
  const Finished cleanup = run({kDaemonProgram, "--config", daemon.config_file(), "--cleanup"});
  EXPECT_EQ(cleanup.exit_code, 0) << cleanup.err;
  EXPECT_FALSE(std::filesystem::exists(daemon.socket()));
  EXPECT_FALSE(std::filesystem::exists(directory.path() / "snapshots/.removing-old"));
  EXPECT_TRUE(std::filesystem::exists(directory.path() / "snapshots/left.partial"));
  EXPECT_THAT(cleanup.out, HasSubstr("removed the socket " + daemon.socket()));
  EXPECT_THAT(cleanup.out, HasSubstr("snapshots/left.partial"));
  EXPECT_THAT(cleanup.out, HasSubstr((directory.path() / "stream/stream-").string()));
  EXPECT_THAT(cleanup.out, HasSubstr("'ktracectl show --partial' reads it"));
}

TEST(Persistence, CleanupLeavesForeignObjectsAlone) {
  TempDir directory;
  const std::filesystem::path precious = directory.path() / "object-1" / "maps" / "precious";
  std::filesystem::create_directories(precious.parent_path());
  std::ofstream(precious) << "kept";
  const std::string config =
      directory.file("config.json", json{{"bpffs", directory.path()}}.dump());
  const Finished refused = run({kDaemonProgram, "--config", config, "--cleanup"});
  EXPECT_EQ(refused.exit_code, 69);
  EXPECT_NE(refused.err.find("not in a BPF file system"), std::string::npos) << refused.err;
  EXPECT_TRUE(std::filesystem::exists(precious));
}

TEST(Persistence, RefusesASecondDaemonOnTheSamePinsOrSocket) {
  Daemon daemon(json{{"events", numbered_calls()}});
  json other = {{"control", {{"socket", daemon.directory() / "other.sock"}}},
                {"bpffs", daemon.pins()},
                {"flight", {{"enabled", false}}}};
  const std::filesystem::path file = daemon.directory() / "other.json";
  std::ofstream(file) << other.dump();
  const Finished refused = run({kDaemonProgram, "--config", file});
  EXPECT_EQ(refused.exit_code, 69);
  EXPECT_NE(refused.err.find("another ktraced holds"), std::string::npos) << refused.err;
  EXPECT_EQ(run({kDaemonProgram, "--config", file, "--cleanup"}).exit_code, 69);
  EXPECT_EQ(run({kDaemonProgram, "--config", daemon.config_file(), "--cleanup"}).exit_code, 69);
  const Finished same = run({kDaemonProgram, "--config", daemon.config_file()});
  EXPECT_EQ(same.exit_code, 69);
  EXPECT_NE(same.err.find(daemon.socket()), std::string::npos) << same.err;
  EXPECT_TRUE(std::filesystem::exists(daemon.socket()));
  EXPECT_EQ(daemon.call("version").contains("version"), true);
}

}  // namespace
}  // namespace ktraced::live
