// SPDX-License-Identifier: BSD-2-Clause
// What was enabled and filtered is known to the daemons that come later.
#include <bpf/bpf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <csignal>
#include <filesystem>
#include <optional>

#include "base/fd.h"
#include "base/mapping.h"
#include "harness/flight.h"
#include "harness/missed.h"
#include "harness/numbers.h"
#include "harness/trace_files.h"
#include "harness/truth.h"

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

// The state is left to the next daemon, in one way or the other.
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

TEST_P(TraceConfig, AFilterOfTheDaemonBeforeIsInTheSnapshot) {
  Daemon daemon(persistent(flight_config()));
  run_truth({"numbered", "100"});
  daemon.set_filter({{"comm", {"nosuch"}}});
  WaitingTruth filtered({"numbered", "1000"});
  filtered.act();
  hand_over(daemon, GetParam());
  EXPECT_TRUE(daemon.logged("dropped what the daemon before had set at run time: its filter"));
  WaitingTruth after({"numbered", "500"});
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
  EXPECT_THAT(daemon.ctl_ok({"report", "syscalls", path}), HasSubstr("a filter was set from"));
  daemon.end(SIGKILL);
}

TEST_P(TraceConfig, EventsEnabledAtRunTimeAreTracedInTheReportOfTheNextDaemon) {
  json config = persistent(flight_config());
  config["events"] = json::object();
  Daemon daemon(config);
  daemon.set_filter({{"syscall", {"getpriority"}}});
  daemon.enable({"sys_enter", "sys_exit"});
  WaitingTruth truth({"numbered", "1000"});
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

TEST_P(TraceConfig, APauseOfTheDaemonBeforeIsInTheSnapshot) {
  Daemon daemon(persistent(flight_config()));
  daemon.call("pause");
  hand_over(daemon, GetParam());
  EXPECT_TRUE(daemon.logged("had set at run time: its pause"));
  const auto configs = configs_of(daemon.call("snapshot.take"));
  ASSERT_EQ(configs.size(), 3U) << json(configs).dump(1);
  EXPECT_EQ(configs[1]["state"], "paused");
  EXPECT_EQ(configs[2]["state"], "running");
  daemon.end(SIGKILL);
}

INSTANTIATE_TEST_SUITE_P(HandedOver, TraceConfig, testing::Values(true, false),
                         [](const auto& way) { return way.param ? "ByAKill" : "ByPersist"; });

// A pin of the only object under the daemon's directory.
fs::path pin_of(Daemon& daemon, const std::string& map) {
  for (const auto& entry : fs::directory_iterator(daemon.pins()))
    if (entry.path().filename().string().starts_with("object-")) return entry.path() / "maps" / map;
  return {};
}

void expect_unknown_before_the_restart(Daemon& daemon, const std::string& reason) {
  const json snapshot = daemon.call("snapshot.take");
  EXPECT_EQ(snapshot["complete"], false);
  EXPECT_THAT(snapshot["incomplete_because"].dump(), HasSubstr("what was traced before"));
  EXPECT_THAT(snapshot["incomplete_because"].dump(), HasSubstr(reason));
  const auto path = snapshot["path"].get<std::string>();
  EXPECT_THAT(daemon.ctl_ok({"report", "syscalls", path}), Not(HasSubstr("was not traced")));
  // The next one begins later.
  run_truth({"numbered", "100"});
  const json next = daemon.call("snapshot.take");
  EXPECT_TRUE(complete_but_for_missed(next)) << next;
}

TEST(TraceConfigLog, ThatIsDamagedMakesASnapshotIncomplete) {
  Daemon daemon(flight_config());
  run_truth({"numbered", "100"});
  daemon.end(SIGKILL);
  {
    const Fd map(bpf_obj_get(pin_of(daemon, "trace_configs").c_str()));
    ASSERT_TRUE(map);
    const auto bytes = Mapping::map(map.get(), 8192, PROT_READ | PROT_WRITE);
    ASSERT_TRUE(bytes);
    bytes->data()[4096 + 40] ^= std::byte{1};
  }
  daemon.start();
  expect_unknown_before_the_restart(daemon, "damaged");
}

TEST(TraceConfigLog, ThatIsMissingMakesASnapshotIncomplete) {
  Daemon daemon(flight_config());
  run_truth({"numbered", "100"});
  daemon.end(SIGKILL);
  ASSERT_TRUE(fs::remove(pin_of(daemon, "trace_configs")));
  daemon.start();
  expect_unknown_before_the_restart(daemon, "did not log it");
}

TEST(KeptMisses, ThatAreMissingMakeASnapshotIncomplete) {
  Daemon daemon(flight_config());
  run_truth({"numbered", "100"});
  daemon.end(SIGKILL);
  ASSERT_TRUE(fs::remove(pin_of(daemon, "kept_misses")));
  daemon.start();
  expect_unknown_before_the_restart(daemon, "hits the kernel skipped");
}

}  // namespace
}  // namespace ktraced::live
