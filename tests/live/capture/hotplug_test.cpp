// SPDX-License-Identifier: BSD-2-Clause
// CPUs go offline and come online during tracing. Needs a machine of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <iterator>
#include <sstream>

#include "harness/client/stream.h"
#include "harness/machine/cpu.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;

const json kNumbered = {{"events", numbered_calls()},
                        {"flight", {{"enabled", true}, {"buffer_kb", 16384}}},
                        {"stream", {{"buffer_kb", 16384}}}};

// Calls numbered from 1 on CPU 1, which must be online.
pid_t calls_on_cpu_1(int count) {
  return run_truth({"--cpu", "1", "numbered", std::to_string(count)})["pid"];
}

std::vector<uint64_t> shown_numbers(const Trace& trace, pid_t pid) {
  std::vector<uint64_t> numbers = call_numbers(trace, pid);
  std::ranges::sort(numbers);
  return numbers;
}

bool has_rings(Daemon& daemon, int cpu) {
  const json cpus = daemon.call("status")["events"]["sys_enter"]["per_cpu"];
  return std::ranges::any_of(cpus, [&](const json& entry) { return entry["cpu"] == cpu; });
}

// The frames of `ktracectl top` in its output so far.
std::vector<json> frames_of(const Process& top) {
  std::vector<json> frames;
  std::istringstream out(top.out());
  for (std::string line; std::getline(out, line) && !out.eof();)
    frames.push_back(json::parse(line));
  return frames;
}

json account_of(const json& manifest, int cpu) {
  for (const json& entry : manifest["cpus"])
    if (entry["cpu"] == cpu) return entry;
  return {};
}

// Must run first on a machine that was started with one CPU: CPU 1 has never been online.
TEST(Hotplug, CreatesRingsWhenACpuComesOnlineForTheFirstTime) {
  Cpu cpu(1);
  cpu.set_online(false);
  Daemon daemon(kNumbered);
  Stream stream(daemon, {"--event", "sys_enter"});
  EXPECT_FALSE(has_rings(daemon, 1));
  cpu.set_online(true);
  ASSERT_TRUE(eventually([&] { return has_rings(daemon, 1); })) << daemon.log();
  ASSERT_TRUE(daemon.logged("CPU 1 has come"));
  const pid_t pid = calls_on_cpu_1(1000);
  const json taken = daemon.call("snapshot.take");
  const auto numbers = numbers_in(taken["path"].get<std::string>(), pid);
  expect_all_but_missed(numbers, 1000, daemon, "sys_enter");
  const Trace trace = stream.finish();
  EXPECT_EQ(shown_numbers(trace, pid), numbers);
  for (const json& event : trace.events("sys_enter", pid)) EXPECT_EQ(event["cpu"], 1);
}

TEST(Hotplug, KeepsTheHistoryOfACpuThatGoesOffline) {
  Cpu cpu(1);
  cpu.set_online(true);
  Daemon daemon(kNumbered);
  const pid_t before = calls_on_cpu_1(2000);
  cpu.set_online(false);
  const json first = daemon.call("snapshot.take");
  EXPECT_TRUE(complete_but_for_missed(first)) << first;
  expect_all_but_missed(numbers_in(first["path"].get<std::string>(), before), 2000, daemon,
                        "sys_enter");
  cpu.set_online(true);
  const pid_t after = calls_on_cpu_1(1000);
  const json second = daemon.call("snapshot.take");
  EXPECT_TRUE(complete_but_for_missed(second)) << second;
  expect_all_but_missed(numbers_in(second["path"].get<std::string>(), after), 1000, daemon,
                        "sys_enter");
  EXPECT_TRUE(numbers_in(second["path"].get<std::string>(), before).empty());
}

// The kernel takes the perf events of a CPU that goes away.
TEST(Hotplug, SamplesACpuThatComesBack) {
  Cpu cpu(1);
  cpu.set_online(true);
  Daemon daemon(json{{"sampling", {{"period", "1ms"}}},
                     {"flight", {{"enabled", true}, {"buffer_kb", 4096}}}});
  const auto sampled = [&] {
    const json cpus = daemon.call("status")["sampling"]["cpus"];
    return std::ranges::find(cpus, json(1)) != cpus.end();
  };
  const auto samples_of_cpu_1 = [&](const std::string& name) {
    uint64_t samples = 0;
    if (cpu.online()) calls_on_cpu_1(100'000);  // some idle virtual CPUs have no samples
    const json taken = daemon.call("snapshot.take", {{"name", name}});
    for_each_packet(taken["path"].get<std::string>(), [&](const PacketView& packet) {
      if (packet.header().cpu_id != 1) return;
      packet.for_each_record(
          [&](const RecordView& record) { samples += record.id() == EVENT_cpu_sample ? 1 : 0; });
    });
    return samples;
  };
  EXPECT_TRUE(sampled());
  cpu.set_online(false);
  ASSERT_TRUE(eventually([&] { return !sampled(); })) << daemon.log();
  samples_of_cpu_1("before");
  cpu.set_online(true);
  ASSERT_TRUE(eventually(sampled)) << daemon.log();
  int snapshot = 0;
  EXPECT_TRUE(eventually([&] { return samples_of_cpu_1(fmt::format("back-{}", snapshot++)) > 0; }));
}

TEST(Hotplug, LosesAndRepeatsNothingWhileTracing) {
  Cpu cpu(1);
  cpu.set_online(true);
  Daemon daemon(kNumbered);
  Stream stream(daemon, {"--event", "sys_enter"});
  WaitingTruth truth({"numbered", "0", "50"});
  truth.go();
  std::vector<uint64_t> in_snapshots;
  auto take = [&] {
    const json taken = daemon.call("snapshot.take");
    EXPECT_TRUE(complete_but_for_missed(taken)) << taken;
    const auto numbers = numbers_in(taken["path"].get<std::string>(), truth.pid());
    in_snapshots.insert(in_snapshots.end(), numbers.begin(), numbers.end());
  };
  for (int i = 0; i < 5; ++i) {
    cpu.set_online(false);
    take();
    cpu.set_online(true);
    take();
  }
  const uint64_t count = truth.finish()["count"];
  take();
  const Trace trace = stream.finish();
  expect_all_but_missed(in_snapshots, count, daemon, "sys_enter");
  EXPECT_EQ(shown_numbers(trace, truth.pid()), in_snapshots);
  EXPECT_EQ(trace.lost(), 0);
}

// The last event of a CPU that goes offline is the switch to its thread migration/N.
TEST(Hotplug, TopMeasuresNoThreadOfACpuThatIsOffline) {
  Cpu cpu(1);
  cpu.set_online(true);
  Daemon daemon(json{{"events", {{"sched", true}}}});
  const Process top(
      daemon.ctl_command({"--json", "top", "--view", "processes", "--interval", "100ms"}));
  ASSERT_TRUE(eventually([&] { return !frames_of(top).empty(); })) << top.err();
  cpu.set_online(false);
  const Process later({"sh", "-c", "while :; do sleep 0.01; done"});
  const auto is_of_later = [&](const json& row) { return row["pid"] == later.pid(); };
  // The frames of times at which the CPU was offline.
  const auto offline = [&] {
    std::vector<json> frames = frames_of(top);
    const auto first = std::ranges::find_if(
        frames, [&](const json& frame) { return std::ranges::any_of(frame["rows"], is_of_later); });
    frames.erase(frames.begin(), first == frames.end() ? first : std::next(first));
    return frames;
  };
  ASSERT_TRUE(eventually([&] { return offline().size() > 2; })) << top.out();
  for (const json& frame : offline())
    for (const json& row : frame["rows"]) EXPECT_NE(row["process"], "migration/1") << frame;
}

TEST(Hotplug, ResetDiscardsLossesFromBeforeACpuHadRings) {
  Cpu cpu(1);
  cpu.set_online(false);
  Daemon daemon(kNumbered);
  daemon.send(SIGSTOP);
  cpu.set_online(true);
  calls_on_cpu_1(500);
  daemon.send(SIGCONT);
  ASSERT_TRUE(eventually([&] { return has_rings(daemon, 1); })) << daemon.log();
  daemon.call("reset");
  const pid_t pid = calls_on_cpu_1(300);
  const json taken = daemon.call("snapshot.take");
  EXPECT_TRUE(complete_but_for_missed(taken)) << taken;
  const std::filesystem::path path = taken["path"].get<std::string>();
  expect_all_but_missed(numbers_in(path, pid), 300, daemon, "sys_enter");
  EXPECT_EQ(account_of(manifest_of(path), 1)["events"]["sys_enter"]["lost"], 0);
}

TEST(Hotplug, ReportsEventsLostBeforeACpuHasRings) {
  constexpr int kUnseen = 500, kSeen = 300;
  Cpu cpu(1);
  cpu.set_online(false);
  Daemon daemon(kNumbered);
  daemon.disable({"sys_exit"});
  Stream stream(daemon, {"--event", "sys_enter"});
  daemon.send(SIGSTOP);
  cpu.set_online(true);
  calls_on_cpu_1(kUnseen);
  daemon.send(SIGCONT);
  ASSERT_TRUE(eventually([&] { return has_rings(daemon, 1); })) << daemon.log();
  ASSERT_TRUE(daemon.logged("CPU 1 has come"));
  const pid_t pid = calls_on_cpu_1(kSeen);

  const json taken = daemon.call("snapshot.take");
  EXPECT_FALSE(taken["complete"]) << taken;
  const std::filesystem::path path = taken["path"].get<std::string>();
  EXPECT_EQ(numbers_in(path, pid), from_to(1, kSeen));
  const json manifest = manifest_of(path);
  EXPECT_EQ(account_of(manifest, 1)["events"]["sys_enter"]["lost"], kUnseen) << manifest["cpus"];
  EXPECT_THAT(manifest["incomplete_because"].dump(), HasSubstr("CPU 1: 500 sys_enter"));
  EXPECT_EQ(account_of(manifest, 1)["events"]["sys_enter"]["records"], kSeen);
  EXPECT_THAT(daemon.ctl_ok({"show", "--format", "json", path}), HasSubstr("\"lost\":500"));
  const Finished other = run({"babeltrace2", path});
  EXPECT_EQ(other.exit_code, 0) << other.err;
  EXPECT_THAT(other.err, HasSubstr("racer discarded 500 events"));

  const json next = daemon.call("snapshot.take");
  EXPECT_TRUE(complete_but_for_missed(next)) << "a loss is reported only once: " << next;
  const Trace trace = stream.finish();
  EXPECT_EQ(trace.lost(), kUnseen);
  EXPECT_EQ(shown_numbers(trace, pid), from_to(1, kSeen));
  EXPECT_EQ(daemon.event_status("sys_enter")["dropped"], kUnseen);
}

}  // namespace
}  // namespace ktraced::live
