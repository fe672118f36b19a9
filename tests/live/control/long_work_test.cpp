// SPDX-License-Identifier: BSD-2-Clause
// No client waits for the end of another one's request.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>

#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "base/fd.h"
#include "harness/client/interleaved.h"
#include "harness/client/probes.h"
#include "harness/machine/held_thread.h"
#include "harness/traces/flight.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;

constexpr const char* kManifest = "manifest.json";

// Snapshots whose manifests the daemon has not read.
std::vector<fs::path> add_copies(Daemon& daemon, int count) {
  const fs::path store = daemon.directory() / "snapshots";
  daemon.ctl_ok({"snapshot", "take", "good"});
  std::vector<fs::path> copies;
  for (int i = 0; i < count; ++i) {
    copies.push_back(store / fmt::format("copy-{}", i));
    fs::copy(store / "good", copies.back(), fs::copy_options::recursive);
  }
  return copies;
}

bool reads_a_manifest(const Daemon& daemon) {
  for (const auto& fd : fs::directory_iterator(fmt::format("/proc/{}/fd", daemon.pid()))) {
    std::error_code closed;
    if (fs::read_symlink(fd.path(), closed).filename() == kManifest) return true;
  }
  return false;
}

// The thread that reads manifests, stopped when it has begun with one for this client.
class HeldReader {
 public:
  HeldReader(const Daemon& daemon, RpcConnection& client)
      : thread_(daemon.pid(), "ktraced-reader") {
    client.send_bytes(R"({"jsonrpc":"2.0","id":1,"method":"snapshot.list"})"
                      "\n");
    while (!reads_a_manifest(daemon)) thread_.step();
  }

 private:
  HeldThread thread_;
};

TEST(LongWork, OfReadingManifestsBlocksNobody) {
  Daemon daemon(flight_config());
  add_copies(daemon, 3);
  RpcConnection client(daemon.socket());
  {
    const HeldReader reader(daemon, client);
    for (const char* method : {"version", "status", "events.list"}) daemon.call(method);
    EXPECT_FALSE(client.read_line(0ms)) << "it is not read yet";
  }
  const json answer = json::parse(client.read_line().value());
  EXPECT_EQ(answer["result"]["snapshots"].size(), 4U) << answer;
  EXPECT_TRUE(
      reaches([&] { return daemon.call("status")["flight"]["snapshots"].get<uint64_t>(); }, 4));
}

// How many manifests below these directories are opened, from its construction on.
class OpenedManifests {
 public:
  explicit OpenedManifests(const std::vector<fs::path>& directories) {
    for (const fs::path& directory : directories)
      EXPECT_GE(::inotify_add_watch(events_.get(), directory.c_str(), IN_OPEN), 0);
  }
  [[nodiscard]] size_t count() const {
    size_t opened = 0;
    alignas(inotify_event) std::array<char, 65536> buffer;
    for (ssize_t got; (got = ::read(events_.get(), buffer.data(), buffer.size())) > 0;)
      for (ssize_t at = 0; at < got;) {
        inotify_event event{};
        std::memcpy(&event, &buffer[static_cast<size_t>(at)], sizeof(event));
        const char* name = &buffer[static_cast<size_t>(at) + sizeof(event)];
        if (event.len != 0 && std::strcmp(name, kManifest) == 0) ++opened;
        at += static_cast<ssize_t>(sizeof(event) + event.len);
      }
    return opened;
  }

 private:
  Fd events_{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
};

// The manifest at hand is the last one.
TEST(LongWork, OfReadingManifestsEndsWhenTheDaemonStops) {
  const TempDir directory;
  const fs::path metrics = directory.path() / "metrics.sock";
  json config = flight_config();
  config["metrics"] = {{"listen", metrics}};
  Daemon daemon(config);
  const OpenedManifests opened(add_copies(daemon, 20));
  RpcConnection client(daemon.socket());
  {
    const HeldReader reader(daemon, client);
    daemon.send(SIGTERM);
    // Its end begins with the order to read no more.
    EXPECT_TRUE(eventually([&] { return !fs::exists(metrics); }));
  }
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_LE(opened.count(), 1U);
}

// Others are answered within each search.
TEST(LongWork, OfListingTracepointsIsDoneBetweenOtherRequests) {
  Daemon daemon;
  const json everything = {{"tracepoints", {"*:*"}}};
  json all;
  for (const char* method : {"version", "events.list"}) {
    Interleaved answers = interleaved(daemon, "events.list", everything, method);
    EXPECT_GE(answers.others, 10U) << method;
    all = std::move(answers.result);
  }
  const json built_in = daemon.call("events.list");
  EXPECT_GT(all["events"].size(), built_in["events"].size() + 100);
  for (size_t i = 0; i < built_in["events"].size(); ++i)
    EXPECT_EQ(all["events"][i], built_in["events"][i]);
}

}  // namespace

// One program is loaded at a time, and others are answered between two of them.
TEST(Probe, DoesNotDelayOtherClientsWhenManyAreAdded) {
  constexpr size_t kProbes = 30, kLeast = kProbes / 3;
  Daemon daemon;
  std::string many;
  json config = json::object();
  for (size_t i = 0; i < kProbes; ++i) {
    many += fmt::format("p:m{} vfs_read count=$arg3:u64\n", i);
    config["probes"].push_back(fmt::format("p:r{} vfs_read count=$arg3:u64", i));
  }
  const Interleaved added = interleaved(daemon, "probe.add", {{"text", many}});
  EXPECT_GE(added.others, kLeast);
  EXPECT_EQ(added.result["added"].size(), kProbes);
  EXPECT_EQ(probe(daemon, "kprobes:m29")["available"], true);
  daemon.write_config(config);
  EXPECT_GE(interleaved(daemon, "reload").others, kLeast);
  EXPECT_EQ(probe(daemon, "kprobes:r29")["available"], true);
  EXPECT_EQ(daemon.call("probe.clear")["removed"].size(), 2 * kProbes);  // none is attached
}

}  // namespace ktraced::live
