// SPDX-License-Identifier: BSD-2-Clause
// Filters in the kernel, each kind as include and as exclude.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "harness/client/stream.h"
#include "harness/machine/cgroups.h"
#include "harness/machine/puppet.h"
#include "harness/machine/scale.h"
#include "harness/traces/missed.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

const json kGetppid = {{"events", {{"syscalls", {{"only", {"getppid"}}}}}}};

// Two processes that do the same; a filter must distinguish them.
class TwoProcesses : public testing::Test {
 protected:
  // Starts them; each makes 100 calls of getppid.
  void start(Command matching_options, Command other_options) {
    for (Command* options : {&matching_options, &other_options}) {
      options->push_back("getppid");
      options->push_back("100");
    }
    matching_ = std::make_unique<WaitingTruth>(matching_options);
    other_ = std::make_unique<WaitingTruth>(other_options);
  }
  // Lets both act under that filter and counts their traced calls.
  std::pair<size_t, size_t> traced_under(const json& filter) {
    daemon_.set_filter(filter);
    Stream stream(daemon_);
    matching_->act();
    other_->act();
    Trace trace = stream.finish();
    EXPECT_EQ(trace.lost(), 0);
    return {trace.events("sys_enter", matching_->pid()).size(),
            trace.events("sys_enter", other_->pid()).size()};
  }

  static json excluding(json filter) { return {{"exclude", std::move(filter)}}; }
  // Starts two processes. Of these, this filter, without those before, must accept only the first
  // one.
  void expect_only_matching(const Command& matching_options, const Command& other_options,
                            const std::function<json()>& filter) {
    start(matching_options, other_options);
    json whole;
    for (const char* key : {"pid", "uid", "comm", "follow", "cgroup"})
      whole[key] = whole["exclude"][key] = json::array();
    whole["pid"] = {matching_->pid(), other_->pid()};
    whole.merge_patch(filter());
    EXPECT_EQ(traced_under(whole), kOnlyMatching) << whole;
  }

  static constexpr std::pair<size_t, size_t> kOnlyMatching = {100, 0};
  Daemon daemon_{kGetppid};
  std::unique_ptr<WaitingTruth> matching_, other_;
};

TEST_F(TwoProcesses, Pid) {
  expect_only_matching({}, {}, [this] { return json{{"pid", {matching_->pid()}}}; });
  expect_only_matching({}, {}, [this] { return excluding({{"pid", {other_->pid()}}}); });
}

// The text of ten thousand is too long for one record of the stream.
json many_pids(pid_t first, int count = 10'000) {
  json pids = {first};
  for (int i = 1; i < count; ++i) pids.push_back(4'170'000 + i);
  return pids;
}

TEST_F(TwoProcesses, PidAmongTenThousand) {
  expect_only_matching({}, {}, [this] { return json{{"pid", many_pids(matching_->pid())}}; });
  expect_only_matching({}, {}, [this] {
    return json{{"pid", {matching_->pid(), other_->pid()}},
                {"exclude", {{"pid", many_pids(other_->pid())}}}};
  });
}

// The recorder and the output have the largest filter, and had one before: together these fill the
// kernel's map.
TEST_F(TwoProcesses, PidBesideTheLargestFiltersAfterTheyWereReplaced) {
  start({}, {});
  for (const pid_t first : {1, 2}) daemon_.set_filter({{"pid", many_pids(first, 16'384)}});
  Stream stream(daemon_, {"--pid", std::to_string(matching_->pid())});
  matching_->act();
  other_->act();
  Trace trace = stream.finish();
  EXPECT_EQ(trace.lost(), 0);
  EXPECT_EQ(trace.events("sys_enter", matching_->pid()).size(), kOnlyMatching.first);
  EXPECT_EQ(trace.events("sys_enter", other_->pid()).size(), kOnlyMatching.second);
}

TEST_F(TwoProcesses, AreRecordedWithAFilterOfTenThousandPids) {
  const json pids = many_pids(::getpid());
  std::string list;
  for (const json& pid : pids) list += (list.empty() ? "" : ",") + pid.dump();
  const std::string path = daemon_.directory() / "recording";
  daemon_.ctl_ok({"record", "-o", path, "--pid", list, "--duration", "200ms"});
  EXPECT_EQ(manifest_of(path)["config"]["filter"]["pid"], pids);
}

TEST_F(TwoProcesses, Uid) {
  const Command one = {"--uid", "12345"}, two = {"--uid", "12346"};
  expect_only_matching(one, two, [] { return json{{"uid", {12345}}}; });
  expect_only_matching(one, two, [] { return excluding({{"uid", {12346}}}); });
}

TEST_F(TwoProcesses, Comm) {
  const Command exact = {"--comm", "worker"}, longer = {"--comm", "worker2"};
  expect_only_matching(exact, longer, [] { return json{{"comm", {"worker"}}}; });
  expect_only_matching(longer, exact, [] { return excluding({{"comm", {"worker"}}}); });
  const Command begins = {"--comm", "worker-7"}, begins_not = {"--comm", "wonder"};
  expect_only_matching(begins, begins_not, [] { return json{{"comm", {"wor*"}}}; });
  expect_only_matching(begins_not, begins, [] { return excluding({{"comm", {"wor*"}}}); });
}

TEST_F(TwoProcesses, Follow) {
  expect_only_matching({}, {}, [this] { return json{{"follow", {matching_->pid()}}}; });
  expect_only_matching({}, {}, [this] { return excluding({{"follow", {other_->pid()}}}); });
}

// The path may omit the mount point, and on a machine that has the hierarchies of both versions it
// may be that of a machine with one.
TEST_F(TwoProcesses, CgroupWithChildren) {
  const Cgroup group(cgroup2_mount(), "ktraced-test-" + std::to_string(::getpid())),
      child(group.path(), "inner");
  const std::string path = group.path(), name = group.path().filename();
  const Command inside = {"--cgroup", group.path()}, below = {"--cgroup", child.path()};
  expect_only_matching(below, {}, [&] { return json{{"cgroup", {path}}}; });
  expect_only_matching({}, inside, [&] { return excluding({{"cgroup", {path}}}); });
  for (const std::string& other : {name, "/" + name, "/sys/fs/cgroup/" + name})
    expect_only_matching(inside, {}, [&] { return json{{"cgroup", {other}}}; });
}

TEST_F(TwoProcesses, AllFilterKindsMustMatchAndExclusionWins) {
  start({"--comm", "worker", "--uid", "12345"}, {"--comm", "worker", "--uid", "12346"});
  EXPECT_EQ(traced_under({{"comm", {"worker"}}, {"uid", {12345}}}), kOnlyMatching);
  start({"--comm", "worker"}, {"--comm", "worker"});
  EXPECT_EQ(
      traced_under(
          {{"comm", {"worker"}}, {"uid", json::array()}, {"exclude", {{"pid", {other_->pid()}}}}}),
      kOnlyMatching);
}

TEST_F(TwoProcesses, ClearedFiltersAcceptEverything) {
  start({}, {});
  daemon_.set_filter({{"pid", {1}}, {"exclude", {{"uid", {0}}}}});
  daemon_.call("filter.clear", {{"keys", {"pid", "exclude.uid"}}});
  Stream stream(daemon_, {"--tid", fmt::format("{},{}", matching_->pid(), other_->pid())});
  matching_->act();
  other_->act();
  const Trace trace = stream.finish();
  for (const auto* truth : {matching_.get(), other_.get()}) {
    const size_t traced = trace.events("sys_enter", truth->pid()).size();
    EXPECT_LE(traced, 100U);
    EXPECT_GE(static_cast<long>(traced) + trace.lost(), 100) << "calls of others may fill the ring";
  }
}

TEST(Follow, AcceptsOnlyThreadsAndLaterDescendants) {
  Daemon daemon(json{{"events", {{"syscalls", {{"only", {"getpriority"}}}}}}});
  WaitingTruth root({"tree", "3", "3"}), other({"tree", "2", "2"});
  daemon.set_filter({{"follow", {root.pid()}}});
  Stream stream(daemon);
  other.go();
  json expected = root.act();
  other.act();
  Trace trace = stream.finish();
  ASSERT_EQ(trace.lost(), 0);
  std::map<long, int> calls;
  std::set<long> threads;
  for (const json& event : trace.events("sys_enter")) {
    ++calls[event["pid"]];
    threads.insert(event["tid"].get<long>());
  }
  EXPECT_EQ(expected["nodes"].size(), 1U + 3 + 9 + 27);
  EXPECT_LE(calls.size(), expected["nodes"].size());
  // Where programs can be preempted, the kernel sometimes misses calls, and counts them.
  uint64_t not_seen = 0;
  for (const json& node : expected["nodes"]) {
    EXPECT_LE(calls[node["pid"]], node["calls"]) << node;
    not_seen += node["calls"].get<int>() - calls[node["pid"]];
  }
  const uint64_t missed = daemon.event_status("sys_enter")["missed"];
  EXPECT_LE(not_seen, missed);
  for (const json& node : expected["nodes"])
    EXPECT_TRUE(missed != 0 || threads.contains(node["thread"])) << node;
}

TEST(Follow, DoesNotBlockOtherChangesWhenTheProcessHasEnded) {
  Daemon daemon(kGetppid);
  WaitingTruth truth({"getppid", "1"});
  daemon.set_filter({{"follow", {truth.pid()}}});
  truth.act();
  daemon.set_filter({{"exclude", {{"comm", {"sshd"}}}}});
  EXPECT_EQ(daemon.call("filter.show")["filter"]["follow"], json::array({truth.pid()}));
  const json error = daemon.call_error("filter.set", {{"filter", {{"follow", {4194303}}}}});
  EXPECT_NE(error["message"].get<std::string>().find("no such process"), std::string::npos);
}

// The kernel frees a process some time after its number can be another's.
TEST(Follow, KeepsAProcessWithTheNumberOfAnEndedOne) {
  Daemon daemon(json{{"events", {{"syscalls", {{"only", {"getpriority"}}}}}}});
  WaitingTruth truth({"reuse", "20"});
  daemon.set_filter({{"follow", {truth.pid()}}});
  Stream stream(daemon, {"--event", "sys_enter"});
  const size_t calls = truth.act()["calls"];
  const Trace trace = stream.finish();
  EXPECT_EQ(trace.lost(), 0);
  expect_all_but_missed(call_numbers(trace, 0), calls, daemon, "sys_enter");
}

// A number means the process that has it when the filter is set, also when several processes have
// had it within a tick of /proc, and the kernel still frees them.
TEST(Follow, IsOfAProcessAndNotOfItsNumber) {
  Daemon daemon(json{{"events", {{"syscalls", {{"only", {"getpriority"}}}}}}});
  std::optional<Puppet> puppet{std::in_place};
  const pid_t pid = puppet->pid();
  daemon.set_filter({{"follow", {pid}}});
  Stream stream(daemon, {"--event", "sys_enter"});
  puppet->call(1);
  auto replace = [&] {
    puppet.reset();
    puppet.emplace(pid);
  };
  for (unsigned long number = 2; number <= 20; ++number) {
    replace();
    puppet->call(number);
  }
  for (unsigned long number = 21; number <= 40; ++number) {
    replace();
    daemon.set_filter({{"follow", {pid}}});
    puppet->call(number);
  }
  const Trace trace = stream.finish();
  std::vector<uint64_t> numbers = call_numbers(trace, pid);
  ASSERT_FALSE(numbers.empty());
  EXPECT_EQ(numbers.front(), 1U);
  numbers.erase(numbers.begin());
  expect_all_but_missed(numbers, 21, 40, daemon.event_status("sys_enter")["missed"]);
}

TEST(Filter, ChangesLoseNoUnrelatedEvent) {
  Daemon daemon(json{{"events", {{"syscalls", {{"only", {"getpriority"}}}}}}});
  WaitingTruth numbered({"numbered", "0", "500"});
  daemon.set_filter({{"pid", {numbered.pid()}}});
  Stream stream(daemon, {"--event", "sys_enter"});
  numbered.go();
  const long changes = usual_or_whole(100, 300);
  for (uint32_t i = 0; i < changes; ++i)  // they concern only other processes
    daemon.set_filter(i % 2 == 0
                          ? json{{"pid", {numbered.pid(), 1, 100000 + i}}}
                          : json{{"pid", {numbered.pid()}}, {"exclude", {{"uid", {70000 + i}}}}});
  const size_t count = numbered.finish()["count"];
  Trace trace = stream.finish();
  EXPECT_EQ(trace.lost(), 0);
  expect_all_but_missed(call_numbers(trace, numbered.pid()), count, daemon, "sys_enter");
}

// A hit about two tasks needs one that is included and not excluded.
TEST(Filter, RejectsAHitOfAnExcludedTaskAndOneThatIsNotIncluded) {
  Daemon daemon(json{{"events", {{"sched", {"sched_switch", "sched_waking"}}}}});
  WaitingTruth excluded({"getppid", "100"}), included({"getppid", "100"});
  daemon.set_filter(
      {{"pid", {excluded.pid(), included.pid()}}, {"exclude", {{"pid", {excluded.pid()}}}}});
  Stream stream(daemon);
  excluded.act();
  included.act();
  const Trace trace = stream.finish();
  EXPECT_FALSE(trace.lines().empty());
  for (const json& event : trace.lines())
    EXPECT_NE(event.dump().find(std::to_string(included.pid())), std::string::npos) << event;
}

void sleep_often_on(int cpu) {
  std::jthread([cpu] {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    ASSERT_EQ(::sched_setaffinity(0, sizeof(set), &set), 0);
    for (int i = 0; i < 20; ++i) std::this_thread::sleep_for(1ms);
  });
}

// The times of switches to and from the idle task of this CPU, of all tasks, after `begin` and
// before `end`.
std::vector<uint64_t> idle_switches(const Trace& trace, int cpu, uint64_t begin, uint64_t end) {
  std::vector<uint64_t> times;
  for (const json& event : trace.events("sched_switch")) {
    const bool idle = event["args"]["prev_pid"] == 0 || event["args"]["next_pid"] == 0;
    const uint64_t ts = event["ts"];
    if (event["cpu"] == cpu && idle && ts > begin && ts < end) times.push_back(ts);
  }
  std::ranges::sort(times);
  return times;
}

// The idle tasks share a tid. Whether one of them runs is up to the machine: another stream, of all
// tasks, shows it.
TEST(Filter, DistinguishesTheIdleTasksByName) {
  struct Idle {
    int cpu = 0;
    uint64_t begin = 0, end = 0;
    Trace trace;
  };
  Daemon daemon(json{{"events", {{"sched", {"sched_switch"}}}}});
  Stream all_tasks(daemon);
  std::vector<Idle> filtered;
  for (int cpu = 0; cpu < std::min(::sysconf(_SC_NPROCESSORS_ONLN), 4L); ++cpu) {
    Stream stream(daemon, {"--comm", fmt::format("swapper/{}", cpu)});
    Idle idle{.cpu = cpu, .begin = boottime_ns()};
    sleep_often_on(cpu);
    idle.end = boottime_ns();
    idle.trace = stream.finish();
    filtered.push_back(std::move(idle));
  }
  const Trace all = all_tasks.finish();
  for (const Idle& idle : filtered) {
    SCOPED_TRACE(idle.cpu);
    for (const json& event : idle.trace.where([](const json&) { return true; }))
      EXPECT_EQ(event["cpu"], idle.cpu) << event;
    if (all.lost() != 0 || idle.trace.lost() != 0) continue;
    EXPECT_EQ(idle_switches(idle.trace, idle.cpu, idle.begin, idle.end),
              idle_switches(all, idle.cpu, idle.begin, idle.end));
  }
}

// The daemon is not traced even if its pid is the only one in the filter. Events of two tasks also
// belong to the other task, so the test does not enable them.
TEST(Self, NeverTracesTheDaemon) {
  Daemon daemon(
      json{{"events", {{"syscalls", true}, {"kmem", true}, {"process", true}, {"signal", true}}}});
  daemon.set_filter({{"pid", {daemon.pid()}}});
  Stream stream(daemon);
  for (int i = 0; i < 20; ++i) daemon.call("status");  // the daemon works
  Trace trace = stream.finish();
  EXPECT_TRUE(trace.lines().empty()) << trace.lines().front();
  const json events = daemon.call("status")["events"];
  for (const char* name : {"sys_enter", "sys_exit", "kmalloc", "kfree"}) {
    EXPECT_EQ(events[name]["recorded"], 0) << name;
    EXPECT_EQ(events[name]["dropped"], 0) << name;
    EXPECT_GT(events[name]["filtered"], 0) << name;
  }
}

}  // namespace
}  // namespace ktraced::live
