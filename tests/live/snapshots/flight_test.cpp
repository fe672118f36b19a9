// SPDX-License-Identifier: BSD-2-Clause
// The flight recorder while it runs: its memory, and snapshots without a gap.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sched.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <iterator>
#include <list>
#include <thread>

#include "bpf/shared_state.h"
#include "harness/disks/tmpfs.h"
#include "harness/machine/bpf_view.h"
#include "harness/machine/memory.h"
#include "harness/machine/scale.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::IsEmpty;

// A process bound to one CPU that numbers its calls as fast as it can, so that everything in the
// flight ring of that CPU is its.
class Caller {
 public:
  explicit Caller(int cpu) : cpu_(cpu), truth_({"--cpu", std::to_string(cpu), "numbered", "0"}) {}

  [[nodiscard]] pid_t pid() const { return truth_.pid(); }
  void go() { truth_.go(); }
  // Stops it; all its numbers must have been seen by then.
  uint64_t finish() { return truth_.finish()["count"]; }
  [[nodiscard]] uint64_t seen() const { return next_ - 1; }
  // Missed hits of all processes; they cause gaps.
  [[nodiscard]] uint64_t missed() const { return missed_; }

  // Calls recorded so far.
  [[nodiscard]] uint64_t recorded(Daemon& daemon) const {
    const json status = daemon.event_status("sys_enter");
    for (const json& counts : status["per_cpu"])
      if (counts["cpu"] == cpu_) return counts["recorded"];
    return 0;
  }

  // Expects that the next snapshot continues where the previous one ended: only the numbers it
  // reports as overwritten are missing, and none is repeated.
  void check(const fs::path& snapshot) {
    uint64_t records = 0, overwritten = 0;
    const json manifest = manifest_of(snapshot);
    for (const json& cpu : manifest["cpus"])
      if (cpu["cpu"] == cpu_ && cpu["events"].contains("sys_enter")) {
        records = cpu["events"]["sys_enter"]["records"];
        overwritten = cpu["events"]["sys_enter"]["overwritten"];
      }
    const auto numbers = numbers_in(snapshot, pid());
    ASSERT_EQ(numbers.size(), records);
    missed_ += manifest["missed"].value("sys_enter", uint64_t{0});
    if (missed_ != 0) return check_order(numbers);
    next_ += overwritten;
    ASSERT_EQ(numbers, from_to(next_, next_ + records - 1)) << overwritten << " overwritten";
    next_ += records;
  }

 private:
  void check_order(const std::vector<uint64_t>& numbers) {
    for (uint64_t number : numbers) {
      ASSERT_GE(number, next_) << "out of order, or twice";
      next_ = number + 1;
    }
  }

  int cpu_;
  WaitingTruth truth_;
  uint64_t next_ = 1, missed_ = 0;
};

// The CPUs this process may use.
std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof(set), &set), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

// Returns the entries of `now` that are not in `before`.
BpfObjects new_maps(const BpfObjects& before, const BpfObjects& now) {
  BpfObjects added;
  std::ranges::set_difference(now.maps, before.maps, std::inserter(added.maps, added.maps.end()));
  return added;
}

// Without a reader there are no stream rings.
void expect_nothing_streamed(Daemon& daemon) {
  const json status = daemon.call("status");
  EXPECT_EQ(status["stream"]["total_bytes"], 0);
  EXPECT_EQ(status["sessions"].size(), 1U) << status["sessions"];
}

// Every CPU is busy, and the snapshots are not awaited, so a ring may wrap between two of them. The
// numbers show exactly how often.
TEST(Flight, SnapshotWhileTracingLosesNothing) {
  const long snapshots = 2 + scaled(usual_or_whole(6, 18));
  const auto buffer_kb = std::bit_ceil(static_cast<uint64_t>(scaled(16384)));
  Tmpfs memory("size=2g");
  std::list<Caller> callers;
  std::vector<pid_t> pids;
  for (int cpu : usable_cpus()) pids.push_back(callers.emplace_back(cpu).pid());
  Daemon daemon(flight_config_for(
      pids, {{"buffer_kb", buffer_kb}, {"max_snapshots", 2}, {"directory", memory.path()}}));
  daemon.disable({"sys_exit"});
  WaitingTruth load({"load", "1"});
  load.go();
  for (Caller& caller : callers) caller.go();

  auto take_and_check = [&] {
    const json taken = daemon.call("snapshot.take");
    ASSERT_TRUE(complete_but_for_missed(taken)) << taken;
    for (Caller& caller : callers) caller.check(taken["path"].get<std::string>());
  };
  for (long i = 0; i < snapshots; ++i) {
    for (Caller& caller : callers) {
      const uint64_t before = caller.recorded(daemon);
      ASSERT_TRUE(eventually([&] { return caller.recorded(daemon) > before; }));
    }
    ASSERT_NO_FATAL_FAILURE(take_and_check()) << "snapshot " << i;
  }
  load.finish();
  std::vector<uint64_t> counts;
  for (Caller& caller : callers) counts.push_back(caller.finish());
  ASSERT_NO_FATAL_FAILURE(take_and_check());
  for (const Caller& caller : callers) {
    EXPECT_LE(caller.seen(), counts.front());
    if (caller.missed() == 0) {
      EXPECT_EQ(caller.seen(), counts.front());
    }
    counts.erase(counts.begin());
  }
}

TEST(Flight, CountsOverwrittenRecordsOfASmallRing) {
  const auto calls = static_cast<uint64_t>(scaled(100'000));
  WaitingTruth truth({"--cpu", "0", "numbered", std::to_string(calls)});
  Daemon daemon(flight_config_for({truth.pid()}, {{"buffer_kb", 64}}));
  daemon.disable({"sys_exit"});
  truth.act();
  EXPECT_GT(daemon.event_status("sys_enter")["overwritten"], 0);
  const json taken = daemon.call("snapshot.take");
  const fs::path path = taken["path"].get<std::string>();
  EXPECT_TRUE(complete_but_for_missed(taken)) << taken;
  const auto numbers = numbers_in(path, truth.pid());
  const json account = manifest_of(path)["cpus"][0]["events"]["sys_enter"];
  EXPECT_EQ(account["records"], numbers.size());
  EXPECT_EQ(account["overwritten"], calls - numbers.size());
  EXPECT_EQ(numbers, from_to(calls - numbers.size() + 1, calls));
}

// Only one thread writes to the ring, so the time of its oldest record never goes back.
TEST(Flight, ReportsTheOldestRecordWhileProgramsOverwriteIt) {
  Caller caller(usable_cpus().front());
  Daemon daemon(flight_config_for({caller.pid()}, {{"buffer_kb", 4096}}));
  daemon.disable({"sys_exit"});
  const auto overwritten = [](const json& status) {
    return status["totals"]["overwritten"].get<uint64_t>();
  };
  caller.go();
  ASSERT_TRUE(eventually([&] { return overwritten(daemon.call("status")) != 0; }));
  uint64_t last_since = 0;
  for (int reading = 0; reading < 200; ++reading) {
    const json status = daemon.call("status");
    const auto since = status["flight"]["since_ns"].get<uint64_t>();
    ASSERT_GT(overwritten(status), 0U) << "reading " << reading;
    ASSERT_GE(since, last_since) << "reading " << reading;
    last_since = since;
  }
  caller.finish();
}

// The ring was overwritten since the event was on.
TEST(Flight, SnapshotHasNoConfigFromBeforeItBegins) {
  WaitingTruth truth({"--cpu", std::to_string(usable_cpus().front()), "numbered", "20000"});
  Daemon daemon(flight_config_for({truth.pid()}, {{"buffer_kb", 64}}));
  daemon.disable({"sys_exit"});
  truth.act();
  const json taken = daemon.call("snapshot.take");
  const auto path = taken["path"].get<std::string>();
  const json manifest = manifest_of(path);
  EXPECT_GT(manifest["overwritten"], 0);
  EXPECT_EQ(manifest["config"]["events"], json{"sys_enter"});
  EXPECT_FALSE(manifest["config"].contains("changes")) << manifest["config"];
  EXPECT_EQ(daemon.ctl_ok({"query", path, "--csv", "SELECT count(*) AS n FROM config_changes"}),
            "n\n1\n");
}

TEST(Flight, UsesMemoryAndProgramsOnlyWhileEnabled) {
  Daemon daemon(flight_config({{"enabled", false}, {"buffer_kb", 1024}, {"banks", 3}}));
  auto flight = [&] { return daemon.call("status")["flight"]; };
  EXPECT_EQ(flight()["enabled"], false);
  EXPECT_EQ(flight()["bytes"], 0);
  EXPECT_THAT(attached_program_names(daemon.pid()), IsEmpty());
  const BpfObjects before = bpf_objects_of(daemon.pid());
  const size_t arena_before = resident_kb_of_arena(daemon.pid());

  EXPECT_THAT(daemon.ctl_ok({"snapshot", "enable"}), HasSubstr("on"));
  EXPECT_EQ(flight()["enabled"], true);
  EXPECT_EQ(flight()["banks"], 3);
  EXPECT_EQ(flight()["ring_bytes"], 1024 * 1024);
  const auto rings = 3 * static_cast<uint64_t>(std::thread::hardware_concurrency());
  EXPECT_GE(flight()["bytes"], rings * 1024 * 1024);
  EXPECT_LT(flight()["bytes"], rings * (1024 + 64) * 1024);
  const BpfObjects ring_maps = new_maps(before, bpf_objects_of(daemon.pid()));
  EXPECT_EQ(ring_maps.maps.size(), arena_before == 0 ? rings : 0);
  WaitingTruth truth({"numbered", "100"});
  daemon.set_filter({{"pid", {truth.pid()}}});
  truth.act();
  EXPECT_EQ(take_numbers(daemon, truth.pid()), from_to(1, 100));
  expect_nothing_streamed(daemon);
  daemon.call("filter.clear", {{"keys", {"pid"}}});  // its programs go with it

  EXPECT_EQ(still_there(ring_maps).maps, ring_maps.maps);
  if (arena_before != 0) {
    EXPECT_GT(resident_kb_of_arena(daemon.pid()), arena_before);
  }
  EXPECT_EQ(daemon.ctl_ok({"snapshot", "disable"}), "flight recorder: off\n");
  EXPECT_EQ(flight()["enabled"], false);
  EXPECT_EQ(flight()["bytes"], 0);
  EXPECT_TRUE(eventually([&] { return still_there(ring_maps).maps.empty(); }));
  EXPECT_EQ(resident_kb_of_arena(daemon.pid()), arena_before);
  EXPECT_TRUE(eventually([&] { return attached_program_names(daemon.pid()).empty(); }));
  daemon.call("snapshot.enable");
  EXPECT_TRUE(take_numbers(daemon, truth.pid()).empty()) << "the history was discarded";
}

// On a machine with two nodes, each with a CPU.
TEST(TwoNodes, FlightRingsAreInTheMemoryOfTheirCpu) {
  Daemon daemon(flight_config({{"buffer_kb", 1024}}));
  ASSERT_NE(resident_kb_of_arena(daemon.pid()), 0) << "this kernel has no BPF arenas";
  daemon.call("snapshot.take");
  std::ifstream mappings("/proc/" + std::to_string(daemon.pid()) + "/numa_maps");
  std::string arena;
  for (std::string line; std::getline(mappings, line);)
    if (line.starts_with("1100000") && line.contains("bpf-map")) arena = line;
  // "110000000000 default file=… N0=90 N1=9 …": each ring's header was read.
  for (const char* node : {"N0=", "N1="}) {
    const size_t at = arena.find(node);
    ASSERT_NE(at, std::string::npos) << arena;
    EXPECT_GE(std::stoul(arena.substr(at + 3)), sizeof(flight_header) / 4096) << arena;
  }
}

TEST(Flight, IsEnabledAndDisabledByReload) {
  Daemon daemon(flight_config({{"enabled", false}}));
  daemon.write_config(flight_config());
  EXPECT_EQ(daemon.call("reload")["changed"], json::array({"flight"}));
  EXPECT_EQ(daemon.call("status")["flight"]["enabled"], true);
  daemon.write_config(flight_config({{"enabled", false}}));
  EXPECT_EQ(daemon.call("reload")["changed"], json::array({"flight"}));
  EXPECT_EQ(daemon.call("status")["flight"]["bytes"], 0);
}

}  // namespace
}  // namespace ktraced::live
