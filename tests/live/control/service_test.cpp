// SPDX-License-Identifier: BSD-2-Clause
// The daemon as a service: reload, stop, and leftovers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>

#include "harness/client/stream.h"
#include "harness/machine/bpf_view.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;

const json kOldFilter = {{"filter", {{"pid", {4242}}}}};
const json kNewFilter = {{"filter", {{"pid", {777}}}}};

json filter_pids(Daemon& daemon) { return daemon.call("filter.show")["filter"]["pid"]; }

TEST(Reload, AppliesAGoodFileAndReportsChanges) {
  Daemon daemon(kOldFilter);
  daemon.write_config(kNewFilter);
  json answer = json::parse(daemon.ctl_ok({"--json", "reload"}));
  EXPECT_THAT(answer["changed"].dump(), HasSubstr("filter"));
  EXPECT_EQ(filter_pids(daemon), json::array({777}));
  EXPECT_EQ(daemon.call("reload")["changed"], json::array());
}

TEST(Reload, ChangesNothingAndReportsWhyWhenTheFileIsBad) {
  Daemon daemon(kOldFilter);
  daemon.write_config_text("{\n  \"filter\": { \"pid\": [1] },\n  \"evnets\": {}\n}\n");
  Finished reload = daemon.ctl({"reload"});
  EXPECT_EQ(reload.exit_code, 78);
  EXPECT_THAT(reload.err, HasSubstr("evnets"));
  EXPECT_THAT(reload.err, HasSubstr("3"));  // the line
  EXPECT_EQ(filter_pids(daemon), json::array({4242}));
}

TEST(Sighup, ReloadsAGoodFile) {
  Daemon daemon(kOldFilter);
  daemon.write_config(kNewFilter);
  daemon.send(SIGHUP);
  EXPECT_TRUE(eventually([&] { return filter_pids(daemon) == json::array({777}); }));
  EXPECT_TRUE(daemon.logged(fmt::format("uid {}, pid {} requests reload {{\"signal\":\"SIGHUP\"}}",
                                        ::getuid(), ::getpid())));
}

TEST(Sighup, ChangesNothingAndLogsWhyWhenTheFileIsBad) {
  Daemon daemon(kOldFilter);
  daemon.write_config_text("{ \"stream\": { \"buffer_kb\": -1 } }");
  daemon.send(SIGHUP);
  EXPECT_TRUE(daemon.logged("buffer_kb"));
  EXPECT_EQ(filter_pids(daemon), json::array({4242}));
}

TEST(Reload, LosesNoEventsThatStayEnabled) {
  Daemon daemon(json{{"events", {{"syscalls", {{"only", {"getpriority"}}}}}}});
  WaitingTruth truth({"numbered", "5000", "50"});
  Stream stream(daemon, {"--pid", std::to_string(truth.pid()), "--event", "sys_enter"});
  truth.go();
  for (int i = 0; i < 20; ++i) {
    daemon.write_config(
        {{"events", {{"syscalls", {{"only", {"getpriority"}}}}, {"oom", i % 2 == 0}}},
         {"log", {{"level", i % 2 == 0 ? "debug" : "info"}}}});
    daemon.call("reload");
  }
  truth.act();
  EXPECT_EQ(stream.finish().events("sys_enter").size(), 5000U);
}

TEST(Sigterm, DrainsToClientsAndExitsWithZero) {
  Daemon daemon(json{{"events", {{"syscalls", {{"only", {"getppid"}}}}}},
                     {"stream", {{"max_latency_ms", 1000}}}});
  Stream stream(daemon, {"--comm", "truth", "--event", "sys_enter"});
  run_truth({"getppid", "2000"});
  Finished daemon_end = daemon.stop();
  EXPECT_EQ(daemon_end.exit_code, 0) << daemon.log();
  EXPECT_TRUE(eventually([&] { return stream.lines_so_far() == 2000; })) << stream.lines_so_far();
}

TEST(Sigint, EndsTheDaemonCleanly) {
  Daemon daemon;
  daemon.send(SIGINT);
  EXPECT_TRUE(eventually([&] { return !daemon.running(); }));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

void expect_all_gone(const BpfObjects& objects) {
  auto left = [&] { return still_there(objects); };
  EXPECT_TRUE(eventually([&] {
    BpfObjects now = left();
    return now.programs.empty() && now.maps.empty() && now.links.empty();
  })) << left().programs.size()
      << " programs, " << left().maps.size() << " maps, " << left().links.size()
      << " links are left";
}

TEST(Stop, LeavesNoProgramsMapsLinksOrSocketBehind) {
  Daemon daemon(json{{"events", {{"syscalls", true}, {"sched", true}}}});
  Stream stream(daemon, {"--event", "mark_victim"});
  BpfObjects objects = bpf_objects_of(daemon.pid());
  EXPECT_GE(objects.programs.size(), 20U);
  EXPECT_GE(objects.maps.size(), 5U);
  EXPECT_GE(objects.links.size(), 4U);
  EXPECT_EQ(daemon.stop().exit_code, 0);
  expect_all_gone(objects);
  EXPECT_FALSE(std::filesystem::exists(daemon.socket()));
  EXPECT_TRUE(!std::filesystem::exists(daemon.pins()) || std::filesystem::is_empty(daemon.pins()));
}

TEST(Kill, LeavesOnlyObjectsThatCleanupRemoves) {
  Daemon daemon(json{{"events", {{"syscalls", true}, {"sched", true}}}});
  Stream stream(daemon, {"--event", "mark_victim"});
  BpfObjects objects = bpf_objects_of(daemon.pid());
  daemon.send(SIGKILL);
  EXPECT_TRUE(eventually([&] { return !daemon.running(); }));
  Finished cleanup = run({kDaemonProgram, "--config", daemon.config_file(), "--cleanup"});
  EXPECT_EQ(cleanup.exit_code, 0) << cleanup.err;
  expect_all_gone(objects);
  EXPECT_FALSE(std::filesystem::exists(daemon.pins()));
}

TEST(Socket, IsReplacedWhenItsDaemonIsDead) {
  TempDir directory;
  std::string socket = directory.path() / "control.sock";
  std::string pins = "/sys/fs/bpf" / directory.path().filename();
  json settings = {{"control", {{"socket", socket}}}, {"bpffs", pins}};
  std::string config = directory.file("config.json", settings.dump());
  for (int i = 0; i < 2; ++i) {
    Process daemon({kDaemonProgram, "--config", config});
    ASSERT_TRUE(eventually([&] { return RpcConnection::answers(socket); })) << daemon.err();
    daemon.send(SIGKILL);
    daemon.wait();
    EXPECT_TRUE(std::filesystem::exists(socket));
  }
  Finished cleanup = run({kDaemonProgram, "--config", config, "--cleanup"});
  EXPECT_EQ(cleanup.exit_code, 0) << cleanup.err;
}

TEST(Socket, IsRefusedWhenItsDaemonIsAlive) {
  Daemon daemon;
  Finished second = run({kDaemonProgram, "--config", daemon.config_file()});
  EXPECT_EQ(second.exit_code, 69);
  EXPECT_THAT(second.err, HasSubstr(daemon.socket()));
  EXPECT_EQ(daemon.call("version")["version"], KTRACED_VERSION);
}

TEST(Socket, IsNotAccessibleToOthers) {
  Daemon daemon;
  struct stat status = {};
  ASSERT_EQ(::stat(daemon.socket().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & S_IRWXO & ~S_IWOTH, 0U);
}

}  // namespace
}  // namespace ktraced::live
