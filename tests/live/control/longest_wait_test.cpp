// SPDX-License-Identifier: BSD-2-Clause
// No client waits for the request of another one. An idle machine answers within 100 ms; the limits
// of these tests leave room for a busy one.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "harness/client/daemon.h"
#include "harness/client/longest_wait.h"
#include "harness/client/probes.h"
#include "harness/traces/flight.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;

constexpr auto kLong = 500ms;

// Snapshots whose manifests take seconds to read.
void add_long_snapshots(Daemon& daemon, int count) {
  const fs::path store = daemon.directory() / "snapshots";
  daemon.ctl_ok({"snapshot", "take", "good"});
  for (int i = 0; i < count; ++i) {
    const fs::path copy = store / fmt::format("long-{}", i);
    fs::copy(store / "good", copy, fs::copy_options::recursive);
    if (i == 0) {
      std::ofstream(copy / "manifest.json", std::ios::app) << std::string(100'000'000, ' ');
      continue;
    }
    fs::remove(copy / "manifest.json");
    fs::create_hard_link(store / "long-0/manifest.json", copy / "manifest.json");
  }
}

TEST(LongestWait, IsShortWhileLongManifestsAreRead) {
  Daemon daemon(flight_config());
  add_long_snapshots(daemon, 3);
  json status, list;
  const auto wait = longest_wait(daemon.socket(), [&] {
    status = daemon.call("status");
    list = daemon.call("snapshot.list");
  });
  EXPECT_LT(wait, kLong);
  EXPECT_EQ(status["flight"]["snapshots"], 4);
  EXPECT_EQ(list["snapshots"].size(), 4U);
  EXPECT_EQ(daemon.call("status")["flight"]["snapshots"], 4);
}

TEST(LongestWait, IsShortForStoppingWhileLongManifestsAreRead) {
  Daemon daemon(flight_config());
  add_long_snapshots(daemon, 20);
  daemon.call("status");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, 3s);
}

using Connections = std::vector<std::unique_ptr<RpcConnection>>;

// Each takes the daemon more than 100 ms.
constexpr int kSearches = 10;

// Connections that ask for all tracepoints at once: together they take seconds.
Connections begin_searches(const Daemon& daemon) {
  const json patterns(250, "*:*");
  const json request = {{"jsonrpc", "2.0"},
                        {"id", 1},
                        {"method", "events.list"},
                        {"params", {{"tracepoints", patterns}}}};
  Connections connections;
  for (int i = 0; i < kSearches; ++i)
    connections.push_back(std::make_unique<RpcConnection>(daemon.socket()));
  for (auto& connection : connections) connection->send_bytes(request.dump() + "\n");
  return connections;
}

// The last list.
json finish_searches(const Connections& connections) {
  std::string last;
  for (const auto& connection : connections) last = connection->read_line(120s).value();
  return json::parse(last)["result"];
}

// Others are answered not only between two searches, but also within each.
TEST(LongestWait, IsShortWhileAllTracepointsAreListed) {
  Daemon daemon;
  json all;
  for (const char* method : {"version", "events.list"}) {
    const Waits waits = waits_during(
        daemon.socket(), [&] { all = finish_searches(begin_searches(daemon)); }, method);
    EXPECT_GE(waits.answers, 3 * kSearches) << method;
  }
  const json built_in = daemon.call("events.list");
  EXPECT_GT(all["events"].size(), built_in["events"].size() + 100);
  for (size_t i = 0; i < built_in["events"].size(); ++i)
    EXPECT_EQ(all["events"][i], built_in["events"][i]);
}

TEST(LongestWait, EndsWhenTheWorkThrows) {
  Daemon daemon;
  EXPECT_THROW(static_cast<void>(
                   longest_wait(daemon.socket(), [] { throw std::runtime_error("no such work"); })),
               std::runtime_error);
}

}  // namespace

// One program is loaded at a time, and others are answered between two of them: how long a load
// takes does not matter.
TEST(Probe, DoesNotDelayOtherClientsWhenManyAreAdded) {
  constexpr int kProbes = 30, kLeast = kProbes / 3;
  Daemon daemon;
  std::string many;
  json config = json::object();
  for (int i = 0; i < kProbes; ++i) {
    many += fmt::format("p:m{} vfs_read count=$arg3:u64\n", i);
    config["probes"].push_back(fmt::format("p:r{} vfs_read count=$arg3:u64", i));
  }
  json added;
  EXPECT_GE(waits_during(daemon.socket(), [&] { added = add(daemon, many); }).answers, kLeast);
  EXPECT_EQ(added["added"].size(), 30U);
  EXPECT_EQ(probe(daemon, "kprobes:m29")["available"], true);
  daemon.write_config(config);
  EXPECT_GE(waits_during(daemon.socket(), [&] { daemon.call("reload"); }).answers, kLeast);
  EXPECT_EQ(probe(daemon, "kprobes:r29")["available"], true);
  EXPECT_GE(waits_during(daemon.socket(), [&] { daemon.call("probe.clear"); }).answers, 1);
}

TEST(Probe, AddsNoneOfManyWhenOneIsRefused) {
  Daemon daemon;
  EXPECT_THAT(why_not(daemon, "p:a vfs_read\np:b vfs_write\np:c no_such_function"),
              testing::HasSubstr("no_such_function"));
  EXPECT_EQ(daemon.call("probe.list")["probes"].size(), 0U);
  std::string many;
  for (int i = 0; i < 257; ++i) many += fmt::format("p:m{} vfs_read\n", i);
  EXPECT_THAT(why_not(daemon, many), testing::HasSubstr("at most 256"));
}

}  // namespace ktraced::live
