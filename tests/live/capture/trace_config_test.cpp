// SPDX-License-Identifier: BSD-2-Clause
// Later daemons know what was enabled and filtered before.
#include <bpf/bpf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <csignal>
#include <filesystem>
#include <optional>

#include "base/fd.h"
#include "base/mapping.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// The configs of a manifest, the one at its beginning first.
std::vector<json> configs_of(const json& snapshot) {
  const json manifest = manifest_of(snapshot["path"].get<std::string>());
  json first = manifest["config"];
  const json changes = first.value("changes", json::array());
  first.erase("changes");
  std::vector<json> configs{first};
  for (const json& change : changes) configs.push_back(change["config"]);
  return configs;
}

bool has_filter(const json& config, const std::string& comm) {
  return config.value("filter", json::object()).value("comm", json::array()) == json{comm};
}

// The daemon leaves its state to the next one, by a kill or by a persistent stop.
void hand_over(Daemon& daemon, bool by_kill) {
  if (by_kill)
    daemon.end(SIGKILL);
  else
    EXPECT_EQ(daemon.stop().exit_code, 0);
  daemon.start();
}

json persistent(json config) {
  config["persist"] = true;
  return config;
}

class TraceConfig : public testing::TestWithParam<bool> {};

TEST_P(TraceConfig, KeepsThePreviousDaemonsFilterInASnapshot) {
  WaitingTruth before({"numbered", "100"}), filtered({"numbered", "1000"}),
      after({"numbered", "500"});
  Daemon daemon(persistent(flight_config_for({before.pid(), filtered.pid(), after.pid()})));
  before.act();
  daemon.set_filter({{"comm", {"nosuch"}}});
  filtered.act();
  hand_over(daemon, GetParam());
  EXPECT_TRUE(daemon.logged("dropped a run-time setting of the earlier daemon: its filter"));
  after.act();
  const json snapshot = daemon.call("snapshot.take");
  const auto configs = configs_of(snapshot);
  ASSERT_EQ(configs.size(), 3U) << json(configs).dump(1);
  EXPECT_FALSE(has_filter(configs[0], "nosuch"));
  EXPECT_TRUE(has_filter(configs[1], "nosuch"));
  EXPECT_FALSE(has_filter(configs[2], "nosuch"));
  const auto path = snapshot["path"].get<std::string>();
  EXPECT_EQ(numbers_in(path, filtered.pid()).size(), 0U);
  EXPECT_EQ(numbers_in(path, after.pid()), from_to(1, 500));
  EXPECT_THAT(daemon.ctl_ok({"report", "syscalls", path}),
              HasSubstr("the filter was changed 2 times"));
  daemon.end(SIGKILL);
}

TEST_P(TraceConfig, KeepsEventsEnabledAtRunTimeInTheNextDaemonsReport) {
  json config = persistent(flight_config());
  config["events"] = json::object();
  WaitingTruth truth({"numbered", "1000"});
  Daemon daemon(for_processes({truth.pid()}, config));
  daemon.set_filter({{"syscall", {"getpriority"}}});
  daemon.enable({"sys_enter", "sys_exit"});
  truth.act();
  hand_over(daemon, GetParam());
  EXPECT_TRUE(daemon.logged("events it had enabled: sys_enter, sys_exit"));
  const json snapshot = daemon.call("snapshot.take");
  const auto path = snapshot["path"].get<std::string>();
  EXPECT_EQ(numbers_in(path, truth.pid()), from_to(1, 1000));
  const std::string report = daemon.ctl_ok({"report", "syscalls", path});
  EXPECT_THAT(report, HasSubstr("getpriority"));
  EXPECT_THAT(report, HasSubstr("sys_enter was not traced up to"));
  const auto configs = configs_of(snapshot);
  EXPECT_EQ(configs.front()["events"], json::array());
  EXPECT_EQ(configs.back()["events"], json::array());
  EXPECT_TRUE(std::ranges::any_of(configs, [](const json& each) {
    return each["events"] == json{"sys_enter", "sys_exit"};
  })) << json(configs).dump(1);
  daemon.end(SIGKILL);
}

TEST_P(TraceConfig, KeepsThePreviousDaemonsPauseInASnapshot) {
  Daemon daemon(persistent(flight_config()));
  daemon.call("pause");
  hand_over(daemon, GetParam());
  EXPECT_TRUE(daemon.logged("run-time setting of the earlier daemon: its pause"));
  const auto configs = configs_of(daemon.call("snapshot.take"));
  ASSERT_EQ(configs.size(), 3U) << json(configs).dump(1);
  EXPECT_EQ(configs[1]["state"], "paused");
  EXPECT_EQ(configs[2]["state"], "running");
  daemon.end(SIGKILL);
}

INSTANTIATE_TEST_SUITE_P(HandedOver, TraceConfig, testing::Values(true, false),
                         [](const auto& way) { return way.param ? "ByAKill" : "ByPersist"; });

void expect_unknown_before_the_restart(Daemon& daemon, const std::string& reason) {
  const json snapshot = daemon.call("snapshot.take");
  EXPECT_EQ(snapshot["complete"], false);
  EXPECT_THAT(snapshot["incomplete_because"].dump(), HasSubstr("what was traced before"));
  EXPECT_THAT(snapshot["incomplete_because"].dump(), HasSubstr(reason));
  const auto path = snapshot["path"].get<std::string>();
  EXPECT_THAT(daemon.ctl_ok({"report", "syscalls", path}), Not(HasSubstr("was not traced")));
  // The next snapshot begins later.
  run_truth({"numbered", "100"});
  const json next = daemon.call("snapshot.take");
  EXPECT_TRUE(complete_but_for_missed(next)) << next;
}

TEST(TraceConfigLog, MakesASnapshotIncompleteWhenDamaged) {
  Daemon daemon(flight_config());
  run_truth({"numbered", "100"});
  daemon.end(SIGKILL);
  {
    const Fd map(bpf_obj_get((daemon.pinned_object() / "maps/ledger").c_str()));
    ASSERT_TRUE(map);
    const auto bytes = Mapping::map(map.get(), 8192, PROT_READ | PROT_WRITE);
    ASSERT_TRUE(bytes);
    bytes->data()[4096 + 40] ^= std::byte{1};
  }
  daemon.start();
  expect_unknown_before_the_restart(daemon, "damaged");
}

TEST(TraceConfigLog, MakesASnapshotIncompleteWhenMissing) {
  Daemon daemon(flight_config());
  run_truth({"numbered", "100"});
  daemon.end(SIGKILL);
  ASSERT_TRUE(fs::remove(daemon.pinned_object() / "maps/ledger"));
  daemon.start();
  expect_unknown_before_the_restart(daemon, "did not log it, nor how many hits the kernel missed");
}

}  // namespace
}  // namespace ktraced::live
