// SPDX-License-Identifier: BSD-2-Clause
// The daemon as a service: reload, stop, and leftovers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "harness/client/stream.h"
#include "harness/machine/bpf_view.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;

const json kOldFilter = {{"filter", {{"pid", {4242}}}}};
const json kNewFilter = {{"filter", {{"pid", {777}}}}};

json filter_pids(Daemon& daemon) { return daemon.call("filter.show")["filter"]["pid"]; }

TEST(Reload, AppliesAGoodFileAndChangesNothingForABadOne) {
  Daemon daemon(kOldFilter);
  daemon.write_config(kNewFilter);
  json answer = json::parse(daemon.ctl_ok({"--json", "reload"}));
  EXPECT_THAT(answer["changed"].dump(), HasSubstr("filter"));
  EXPECT_EQ(filter_pids(daemon), json::array({777}));
  EXPECT_EQ(daemon.call("reload")["changed"], json::array());
  daemon.write_config_text("{\n  \"filter\": { \"pid\": [1] },\n  \"evnets\": {}\n}\n");
  const Finished reload = daemon.ctl({"reload"});
  EXPECT_EQ(reload.exit_code, 78);
  EXPECT_THAT(reload.err, HasSubstr("config.json:3: evnets: "));
  EXPECT_EQ(filter_pids(daemon), json::array({777}));
}

TEST(Sighup, ReloadsAGoodFileAndLogsWhyForABadOne) {
  Daemon daemon(kOldFilter);
  daemon.write_config(kNewFilter);
  daemon.send(SIGHUP);
  EXPECT_TRUE(eventually([&] { return filter_pids(daemon) == json::array({777}); }));
  EXPECT_TRUE(daemon.logged(fmt::format("uid {}, pid {} requests reload {{\"signal\":\"SIGHUP\"}}",
                                        ::getuid(), ::getpid())));
  daemon.write_config_text("{ \"stream\": { \"buffer_kb\": -1 } }");
  daemon.send(SIGHUP);
  EXPECT_TRUE(daemon.logged("buffer_kb"));
  EXPECT_EQ(filter_pids(daemon), json::array({777}));
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
  WaitingTruth first({"getppid", "1"}), truth({"getppid", "2000"});
  Stream stream(daemon, {"--pid", std::to_string(first.pid()), "--pid", std::to_string(truth.pid()),
                         "--event", "sys_enter"});
  first.act();
  ASSERT_TRUE(reaches([&] { return stream.lines_so_far(); }, 1)) << "the client reads";
  truth.act();
  Finished daemon_end = daemon.stop();
  EXPECT_EQ(daemon_end.exit_code, 0) << daemon.log();
  EXPECT_TRUE(reaches([&] { return stream.lines_so_far(); }, 2001));
}

TEST(Stop, BySigtermOrSigintLeavesNothingBehind) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Daemon daemon(json{{"events", {{"syscalls", true}, {"sched", true}}},
                       {"flight", {{"enabled", true}, {"buffer_kb", 256}}}});
    Stream stream(daemon, {"--event", "mark_victim"});
    const BpfObjects objects = bpf_objects_of(daemon.pid());
    EXPECT_GE(objects.programs.size(), 20U);
    EXPECT_GE(objects.maps.size(), 5U);
    EXPECT_GE(objects.links.size(), 4U);
    ASSERT_TRUE(std::filesystem::exists(daemon.pins()));
    daemon.send(signal);
    ASSERT_TRUE(eventually([&] { return !daemon.running(); }));
    EXPECT_EQ(daemon.stop().exit_code, 0) << daemon.log();
    EXPECT_TRUE(all_gone(objects));
    EXPECT_FALSE(std::filesystem::exists(daemon.socket()));
    EXPECT_FALSE(std::filesystem::exists(daemon.pins()));
  }
}

}  // namespace
}  // namespace ktraced::live
