// SPDX-License-Identifier: BSD-2-Clause
// The daemon is killed at random moments under load, again and again. KTRACED_KILLS is how often.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <stop_token>
#include <thread>

#include "harness/client/daemon.h"
#include "harness/machine/bpf_view.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;

constexpr auto kLongestLife = 400ms;  // of a daemon

int kill_count() {
  const char* text = std::getenv("KTRACED_KILLS");
  return text == nullptr ? 6 : std::atoi(text);
}

json config_of_kills() {
  return flight_config({{"buffer_kb", 8192}, {"banks", 3}, {"max_snapshots", 100'000}});
}

// Random moments and actions, which can be repeated with the same seed.
class Chance {
 public:
  explicit Chance(unsigned seed) : engine_(seed) {}
  Milliseconds moment() { return Milliseconds(up_to(Milliseconds(kLongestLife).count())); }
  long up_to(long last) { return std::uniform_int_distribution<long>(0, last)(engine_); }

 private:
  std::mt19937 engine_;
};

void act(Daemon& daemon, long action) {
  switch (action) {
    case 0:
      static_cast<void>(daemon.call("snapshot.take"));
      break;
    case 1:
      static_cast<void>(daemon.call("snapshot.take", {{"wait", false}}));
      break;
    case 2:
      daemon.send(SIGHUP);
      break;
    case 3:
      daemon.send(SIGUSR1);
      break;
    case 4:
      daemon.enable({"sched_switch", "sched_process_fork"});
      break;
    case 5:
      daemon.set_filter({{"exclude", {{"comm", {"nobody"}}}}});
      break;
    case 6: {
      RpcConnection stream(daemon.socket());
      stream.call("stream.subscribe", {{"events", {"sched"}}, {"filter", json::object()}});
      std::this_thread::sleep_for(5ms);
      break;
    }
    default:
      daemon.call("status");
  }
}

// Keeps the daemon busy until it is killed at a random moment.
void live_and_die(Daemon& daemon, Chance& chance) {
  std::atomic<bool> killed = false;
  const std::jthread killer([&, moment = chance.moment(), pid = daemon.pid()] {
    std::this_thread::sleep_for(moment);
    ::kill(pid, SIGKILL);
    killed = true;
  });
  while (!killed) {
    try {
      act(daemon, chance.up_to(7));
    } catch (const std::runtime_error&) {  // it was killed, or is busy with a snapshot
      std::this_thread::sleep_for(1ms);
    }
  }
}

// Starts another one, and kills it while it starts.
void start_and_die(Daemon& daemon, Chance& chance) {
  const Process early({kDaemonProgram, "--config", daemon.config_file()});
  std::this_thread::sleep_for(chance.moment());
}

// Nothing is missing, except that the trace config of the time before a kill may be unknown: it
// was being changed, or was changed more often than the log of it holds.
bool complete_but_for_config(const json& manifest) {
  json checked = manifest;
  std::erase_if(checked["incomplete_because"].get_ref<json::array_t&>(), [](const json& reason) {
    return reason.get<std::string>().starts_with("what was traced before ");
  });
  checked["complete"] = checked["incomplete_because"].empty();
  return complete_but_for_missed(checked);
}

std::vector<json> manifests_in(const fs::path& snapshots) {
  std::vector<json> manifests;
  for (const auto& entry : fs::directory_iterator(snapshots)) {
    if (!entry.is_directory()) continue;
    EXPECT_NE(entry.path().extension(), ".partial") << entry.path();
    manifests.push_back(manifest_of(entry.path()));
    manifests.back()["path"] = entry.path();
  }
  std::ranges::sort(manifests, {},
                    [](const json& each) { return each["begin_ns"].get<uint64_t>(); });
  return manifests;
}

TEST(RandomKills, LoseNothingOfTheHistory) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  Chance chance(seed);
  Daemon daemon(config_of_kills());
  const BpfObjects first = bpf_objects_of(daemon.pid());
  const Process load({"sh", "-c", "while :; do : | :; done"});
  WaitingTruth truth({"numbered", "0", "500"});
  truth.go();
  for (int kill = 0; kill < kill_count(); ++kill) {
    live_and_die(daemon, chance);
    daemon.end(SIGKILL);
    if (kill % 2 == 1) start_and_die(daemon, chance);
    daemon.start();
    EXPECT_TRUE(daemon.logged("adopted what an earlier daemon left running"));
  }
  const uint64_t count = truth.finish()["count"];
  ASSERT_TRUE(eventually([&] { return daemon.call("status")["flight"]["frozen"] == 0; }));
  daemon.call("snapshot.take");

  std::vector<uint64_t> numbers;
  uint64_t missed = 0, end = 0;
  for (const json& manifest : manifests_in(daemon.directory() / "snapshots")) {
    EXPECT_TRUE(complete_but_for_config(manifest)) << manifest["incomplete_because"];
    EXPECT_GE(manifest["begin_ns"], end) << "no time is in two snapshots";
    end = manifest["end_ns"];
    missed += manifest["missed"].value("sys_enter", uint64_t{0});
    std::ranges::copy(numbers_in(manifest["path"].get<std::string>(), truth.pid()),
                      std::back_inserter(numbers));
  }
  expect_all_but_missed(numbers, 1, count, missed);

  const BpfObjects last = bpf_objects_of(daemon.pid());
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_FALSE(fs::exists(daemon.pins()));
  EXPECT_TRUE(eventually([&] {
    return still_there(first).programs.empty() && still_there(last).programs.empty() &&
           still_there(last).maps.empty() && still_there(last).links.empty();
  }));
}

}  // namespace
}  // namespace ktraced::live
