// SPDX-License-Identifier: BSD-2-Clause
// The daemon is killed at random moments under load, again and again. KTRACED_KILLS is how often,
// and KTRACED_SEED repeats the moments and actions of an earlier run, whose output has its seed.
#include <bpf/bpf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <random>
#include <set>
#include <stop_token>
#include <thread>

#include "bpf/shared_state.h"
#include "harness/client/daemon.h"
#include "harness/machine/bpf_view.h"
#include "harness/machine/scale.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;

constexpr auto kLongestLife = 400ms;  // of a daemon

unsigned long number_from(const char* variable, unsigned long fallback) {
  const char* text = std::getenv(variable);
  return text == nullptr ? fallback : std::stoul(text);
}

json config_of_kills(const std::vector<pid_t>& pids) {
  return flight_config_for(pids, {{"buffer_kb", 8192}, {"banks", 3}, {"max_snapshots", 100'000}});
}

// Random moments and actions, which can be repeated with the same seed.
class Chance {
 public:
  explicit Chance(unsigned long seed) : engine_(static_cast<unsigned>(seed)) {}
  Milliseconds moment() { return Milliseconds(up_to(Milliseconds(kLongestLife).count())); }
  long up_to(long last) { return std::uniform_int_distribution<long>(0, last)(engine_); }

 private:
  std::mt19937 engine_;
};

// `filter`: of the configuration.
void act(Daemon& daemon, json filter, long action) {
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
      filter["exclude"] = {{"comm", {"nobody"}}};
      daemon.set_filter(filter);
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
void live_and_die(Daemon& daemon, const json& filter, Chance& chance) {
  std::atomic<bool> killed = false;
  const std::jthread killer([&, moment = chance.moment(), pid = daemon.pid()] {
    std::this_thread::sleep_for(moment);
    ::kill(pid, SIGKILL);
    killed = true;
  });
  while (!killed) {
    try {
      act(daemon, filter, chance.up_to(7));
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

// True if this history of the whole machine had more entries than are kept since the first daemon
// began: the first entry is overwritten.
template <class Entry>
bool is_overwritten(const Daemon& daemon, const std::string& history) {
  const Fd map(bpf_obj_get((daemon.pinned_object() / "maps" / history).c_str()));
  const uint32_t index = 0;
  Entry first{};
  if (!map || bpf_map_lookup_elem(map.get(), &index, &first) != 0)
    throw std::runtime_error(history + " is not pinned");
  return first.number > 1;
}

// Nothing is missing, except that the trace config of the time before a kill may be unknown: it
// was being changed, or was changed more often than the log of it holds. And names may be wrong or
// missing if some are overwritten.
bool complete_but_for_config(const json& manifest, bool overwritten_names) {
  json checked = manifest;
  std::erase_if(checked["incomplete_because"].get_ref<json::array_t&>(), [&](const json& reason) {
    const auto& text = reason.get_ref<const std::string&>();
    return text.starts_with("what was traced before ") ||
           (overwritten_names && (text.starts_with("threads may carry wrong names ") ||
                                  text.starts_with("paths of control groups that were removed ")));
  });
  checked["complete"] = checked["incomplete_because"].empty();
  return complete_but_for_missed(checked);
}

// Pinned programs and maps. Links come and go with the events.
std::set<std::string> pinned_objects(Daemon& daemon) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(daemon.pins()))
    if (!entry.is_directory() && !entry.path().string().contains("link"))
      names.insert(entry.path().lexically_relative(daemon.pins()));
  return names;
}

// The next daemon has the programs and maps that the first one had, and nothing else is pinned.
void expect_as_before(Daemon& daemon, const BpfObjects& first, const std::set<std::string>& pins) {
  EXPECT_EQ(pinned_objects(daemon), pins);
  EXPECT_TRUE(eventually([&] {
    const BpfObjects now = bpf_objects_of(daemon.pid());
    return now.programs == first.programs && now.maps.size() == first.maps.size();
  })) << first.maps.size()
      << " maps before, now " << bpf_objects_of(daemon.pid()).maps.size();
}

// How often the kernel has run the program of the event, since the first daemon.
uint64_t runs_of_kernel(const Daemon& daemon) {
  return program_counts(daemon.pid(), "sys_enter").runs;
}

// How many of these runs the daemons have counted together, by what became of them: recorded or
// filtered, or dropped for want of room.
uint64_t runs_of_daemons(Daemon& daemon) {
  const json event = daemon.event_status("sys_enter");
  uint64_t runs = 0;
  for (const char* outcome : {"recorded", "filtered", "dropped", "ignored"})
    runs += event[outcome].get<uint64_t>();
  return runs;
}

// The account adds up while tracing goes on. The kernel counts a run at its end: on each CPU there
// may be one that only the daemon has counted.
void expect_account_of_moment(Daemon& daemon) {
  const uint64_t before = runs_of_kernel(daemon), counted = runs_of_daemons(daemon),
                 after = runs_of_kernel(daemon);
  EXPECT_GE(counted, before);
  EXPECT_LE(counted, after + static_cast<uint64_t>(::sysconf(_SC_NPROCESSORS_CONF)));
}

// The account equals the kernel's count of runs. Detaches the program.
void expect_exact_account(Daemon& daemon) {
  daemon.disable({"sys_enter"});
  EXPECT_TRUE(eventually([&] { return runs_of_daemons(daemon) == runs_of_kernel(daemon); }))
      << daemon.event_status("sys_enter") << runs_of_kernel(daemon) << " runs";
  EXPECT_GT(runs_of_kernel(daemon), 0U);
}

// The numbered calls of a process in the snapshots of all daemons, each of which is read once.
class History {
 public:
  explicit History(pid_t pid) : pid_(pid) {}
  // Takes a snapshot, and reads all those that are new.
  void read_on(Daemon& daemon);
  // The numbers are those from 1 to `last`, or to the last one that there is.
  void expect_no_gap(std::optional<uint64_t> last = std::nullopt) const;

 private:
  std::vector<json> new_manifests(const fs::path& snapshots);

  pid_t pid_;
  std::set<fs::path> known_;
  std::vector<uint64_t> numbers_;
  uint64_t missed_ = 0, end_ns_ = 0;
};

std::vector<json> History::new_manifests(const fs::path& snapshots) {
  std::vector<json> manifests;
  for (const auto& entry : fs::directory_iterator(snapshots)) {
    if (!entry.is_directory() || !known_.insert(entry.path()).second) continue;
    EXPECT_NE(entry.path().extension(), ".partial") << entry.path();
    manifests.push_back(manifest_of(entry.path()));
    manifests.back()["path"] = entry.path();
  }
  std::ranges::sort(manifests, {},
                    [](const json& each) { return each["begin_ns"].get<uint64_t>(); });
  return manifests;
}

void History::read_on(Daemon& daemon) {
  ASSERT_TRUE(eventually([&] { return daemon.call("status")["flight"]["frozen"] == 0; }));
  daemon.call("snapshot.take");
  const bool overwritten_names = is_overwritten<name_change>(daemon, "name_changes") ||
                                 is_overwritten<removed_cgroup>(daemon, "removed_cgroups");
  for (const json& manifest : new_manifests(daemon.directory() / "snapshots")) {
    EXPECT_TRUE(complete_but_for_config(manifest, overwritten_names))
        << manifest["incomplete_because"];
    EXPECT_GE(manifest["begin_ns"], end_ns_) << "no time is in two snapshots";
    end_ns_ = manifest["end_ns"];
    missed_ += manifest["missed"].value("sys_enter", uint64_t{0});
    std::ranges::copy(numbers_in(manifest["path"].get<std::string>(), pid_),
                      std::back_inserter(numbers_));
  }
}

void History::expect_no_gap(std::optional<uint64_t> last) const {
  if (!last && numbers_.empty()) return;  // it has not begun
  expect_all_but_missed(numbers_, 1, last ? *last : numbers_.back(), missed_);
}

TEST(RandomKills, LoseNothingOfTheHistory) {
  const unsigned long seed = number_from("KTRACED_SEED", std::random_device()());
  const unsigned long kills =
      number_from("KTRACED_KILLS", static_cast<unsigned long>(usual_or_whole(6, 100)));
  std::cout << kills << " kills, KTRACED_SEED=" << seed << std::endl;
  Chance chance(seed);
  const RunStatistics statistics;
  // Few enough children that all names are kept, if the rest of the machine has few too.
  const Process load({"sh", "-c", "while :; do : | :; sleep 0.05; done"});
  WaitingTruth truth({"numbered", "0", "200"});
  const json config = config_of_kills({load.pid(), truth.pid()});
  Daemon daemon(config);
  const BpfObjects first = bpf_objects_of(daemon.pid());
  const auto pins = pinned_objects(daemon);
  truth.go();
  History history(truth.pid());
  for (unsigned long kill = 0; kill < kills; ++kill) {
    SCOPED_TRACE(kill);
    live_and_die(daemon, config["filter"], chance);
    daemon.end(SIGKILL);
    if (kill % 2 == 1) start_and_die(daemon, chance);
    daemon.start();
    ASSERT_TRUE(daemon.logged("adopted what an earlier daemon left running"));
    expect_as_before(daemon, first, pins);
    expect_account_of_moment(daemon);
    history.read_on(daemon);
    history.expect_no_gap();
    if (HasFailure()) break;
  }
  const uint64_t count = truth.finish()["count"];
  expect_exact_account(daemon);
  history.read_on(daemon);
  history.expect_no_gap(count);

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
