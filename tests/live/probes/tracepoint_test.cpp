// SPDX-License-Identifier: BSD-2-Clause
// Any tracepoint of the running kernel as an event.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "harness/client/stream.h"
#include "harness/machine/kernel_trace.h"
#include "harness/machine/scale.h"
#include "harness/traces/flight.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Le;
using testing::SizeIs;
using testing::StartsWith;

// The ones that this kernel has.
std::vector<std::string> ten_subsystems() {
  std::vector<std::string> there;
  for (const char* system : {"block", "ext4", "filemap", "irq", "kmem", "sched", "task", "timer",
                             "workqueue", "writeback"})
    if (std::filesystem::exists(std::filesystem::path("/sys/kernel/tracing/events") / system))
      there.push_back(std::string(system) + ":*");
  return there;
}

// A shell that waits, uses many parts of the kernel without child processes, and waits again. It
// sleeps before and afterwards, so that several tracers see the same events of it.
class BusyShell {
 public:
  explicit BusyShell(const std::filesystem::path& directory)
      : shell_({"/bin/sh", "-c",
                fmt::format("echo ready; read go; i=0; while [ $i -lt {} ]; do echo text > {}; "
                            "read line < /proc/self/stat; i=$((i+1)); done; echo done; read end",
                            scaled(200), (directory / "file").string())}) {
    wait_asleep("ready");
  }
  [[nodiscard]] pid_t pid() const { return shell_.pid(); }
  void act() {
    shell_.write_input("go\n");
    wait_asleep("done");
  }

 private:
  void wait_asleep(const std::string& after) {
    EXPECT_TRUE(eventually([&] { return shell_.out().contains(after) && shell_.asleep(); }));
  }
  Process shell_;
};

// Kernels count missed hits from 6.7 on.
bool skipped_hits_are_counted() {
  utsname names{};
  ::uname(&names);
  int major = 0, minor = 0;
  std::sscanf(names.release, "%d.%d", &major, &minor);
  return major > 6 || (major == 6 && minor >= 7);
}

// Older kernels omit strings from printed text while pointer hashing is disabled.
bool kernel_prints_all() { return skipped_hits_are_counted(); }

// The kernel prints these from addresses that no record holds.
bool is_beyond_the_fields(const std::string& event) { return event.starts_with("mm_page_"); }

// Texts of a thread's events, sorted: an interrupt may come between the two tracers of one hit.
std::map<std::string, std::vector<std::string>> texts_by_event(const std::vector<TraceLine>& lines,
                                                               pid_t tid) {
  std::map<std::string, std::vector<std::string>> texts;
  for (const TraceLine& line : lines)
    if (line.tid == tid) texts[line.event].push_back(line.text);
  for (auto& [event, list] : texts) std::ranges::sort(list);
  return texts;
}

// Threads and processes that an action "fork" makes.
size_t made_by(const json& truth) { return truth["children"].size() + truth["threads"].size(); }

// To a subscriber that was there before it was enabled.
TEST(Tracepoint, IsShownWithItsFields) {
  Daemon daemon;
  Stream stream(daemon);
  daemon.enable({"task:task_newtask"});
  const json truth = run_truth({"fork", "3"});
  const auto events = stream.finish().events("task:task_newtask", truth["pid"].get<long>());
  ASSERT_EQ(events.size(), made_by(truth));
  for (const json& event : events) {
    EXPECT_EQ(event["args"]["comm"], truth["comm"]);
    EXPECT_GT(event["args"]["pid"].get<long>(), 0);
  }
  EXPECT_EQ(daemon.event_status("task:task_newtask")["enabled"], true);
}

// Returns entries of the first sorted list that are not in the second.
std::vector<std::string> only_in(const std::vector<std::string>& first,
                                 const std::vector<std::string>& second) {
  std::vector<std::string> only;
  std::ranges::set_difference(first, second, std::back_inserter(only));
  return only;
}

// Missed hits of the tracepoint of that name, in any system: those in an interrupt during a run of
// its program.
uint64_t missed_of(const json& events, const std::string& tracepoint) {
  uint64_t missed = 0;
  for (const auto& [name, counts] : events.items())
    if (name.ends_with(":" + tracepoint)) missed += counts["missed"].get<uint64_t>();
  return missed;
}

// The kernel's own trace omits a few hits without counting them, so the test looks up each of its
// hits in ours.
TEST(Tracepoint, AgreesWithTheKernelsTraceInTenSubsystems) {
  Daemon daemon(flight_config({{"buffer_kb", std::bit_ceil(unsigned(scaled(32768)))}}));
  BusyShell shell(daemon.directory());
  daemon.set_filter({{"pid", {shell.pid()}}});
  const json chosen = daemon.call("events.enable", {{"names", ten_subsystems()}});
  EXPECT_GT(chosen["events"].size(), 100U);
  EXPECT_FALSE(chosen.contains("skipped")) << chosen["skipped"];
  KernelTrace ftrace(ten_subsystems(), {shell.pid()});
  shell.act();
  const auto kernel = texts_by_event(ftrace.stop(), shell.pid());
  const json taken = json::parse(daemon.ctl_ok({"--json", "snapshot", "take", "--name", "all"}));
  const std::string trace = taken["path"];
  EXPECT_EQ(manifest_of(trace)["overwritten"], 0);
  auto ours = texts_by_event(trace_lines(daemon.ctl_ok({"show", trace, "--format", "ftrace"})),
                             shell.pid());
  const json status = daemon.call("status")["events"];
  size_t expected = 0, compared_texts = 0, compared = 0;
  for (const auto& [event, texts] : kernel) {
    expected += texts.size();
    compared_texts += std::min(texts.size(), ours[event].size());
    // perf drops events of an interrupt that arrives while it builds another record, without
    // counting them.
    const uint64_t uncounted = 1 + texts.size() / 20;
    const uint64_t missed = missed_of(status, event) + uncounted;
    if (skipped_hits_are_counted()) {
      EXPECT_GE(ours[event].size() + missed, texts.size()) << event;
    }
    if (is_beyond_the_fields(event) || !kernel_prints_all()) continue;
    EXPECT_THAT(only_in(texts, ours[event]), SizeIs(Le(missed))) << event;
    compared += ours[event].empty() ? 0 : 1;
  }
  EXPECT_GT(kernel.size(), 5U);
  EXPECT_GE(compared_texts * 10, expected * 9);
  if (kernel_prints_all()) {
    EXPECT_GE(compared, 5U);
  }
}

TEST(Tracepoint, CountersAddUpForManyEventsInSmallRings) {
  json config = flight_config();
  config["flight"]["buffer_kb"] = 64;
  Daemon daemon(config);
  daemon.enable({"sched:*", "irq:*", "timer:*", "task:*"});
  const auto overwritten = [&] { return daemon.event_status("sched:sched_switch")["overwritten"]; };
  do BusyShell(daemon.directory()).act();
  while (overwritten() == 0);
  const json taken = json::parse(daemon.ctl_ok({"--json", "snapshot", "take", "--name", "small"}));
  const json manifest = manifest_of(taken["path"].get<std::string>());
  for (const json& reason : manifest["incomplete_because"])
    EXPECT_THAT(reason.get<std::string>(), StartsWith("the kernel skipped"));
  EXPECT_GT(manifest["overwritten"].get<uint64_t>(), 0U);
  const auto babeltrace = run({"babeltrace2", taken["path"].get<std::string>()});
  EXPECT_EQ(babeltrace.exit_code, 0);
  EXPECT_EQ(babeltrace.err, "");
  EXPECT_EQ(std::ranges::count(babeltrace.out, '\n'), manifest["records"].get<long>());
}

TEST(Tracepoint, IsEnabledAndDisabledByAPatternOfHundreds) {
  Daemon daemon(flight_config());
  std::vector<std::string> patterns = {"sched:*", "kmem:*"};
  // On an emulated processor each takes a second to detach.
  if (scaled(1000) == 1000) patterns.emplace_back("syscalls:sys_enter_*");
  const size_t built_in = daemon.call("events.list")["events"].size();
  const json chosen = daemon.call("events.enable", {{"names", patterns}});
  EXPECT_GT(chosen["events"].size(), 30U);
  const json list = daemon.call("events.list")["events"];
  EXPECT_EQ(list.size(), built_in + chosen["events"].size());
  daemon.disable({"*:*"});
  EXPECT_EQ(daemon.call("events.list")["events"].size(), built_in);
}

TEST(Tracepoint, IsListedBeforeItIsEnabledAndRefusedWhenItDoesNotExist) {
  Daemon daemon;
  const json list = daemon.call("events.list", {{"tracepoints", {"irq:softirq_*"}}})["events"];
  std::set<std::string> names;
  for (const json& event : list)
    if (event["name"].get<std::string>().contains(':')) {
      names.insert(event["name"]);
      EXPECT_EQ(event["enabled"], false);
      EXPECT_EQ(event["fields"][0]["name"], "vec");
    }
  EXPECT_THAT(names, Contains("irq:softirq_entry"));
  EXPECT_THAT(daemon.ctl_ok({"events", "list", "irq:softirq_*"}), HasSubstr("irq:softirq_raise"));
  const json error =
      daemon.call_error("events.enable", {{"names", {"irq:softirq_entry", "irq:softirq_entri"}}});
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("did you mean 'irq:softirq_entry'?"));
  EXPECT_EQ(error["data"]["exit_code"], 64);
  EXPECT_THAT(
      daemon.call_error("events.enable", {{"names", {"nosuch:*"}}})["message"].get<std::string>(),
      HasSubstr("unknown tracepoint 'nosuch:*'"));
  EXPECT_FALSE(daemon.call("status")["events"].contains("irq:softirq_entry"));
}

TEST(Tracepoint, GroupIsEnabledByNameUnlessABuiltInGroupHasThatName) {
  Daemon daemon;
  EXPECT_THAT(daemon.ctl_ok({"events", "list", "irq"}), HasSubstr("irq:softirq_entry"));
  const json chosen = daemon.call("events.enable", {{"names", {"irq"}}})["events"];
  EXPECT_THAT(chosen, Contains("irq:softirq_entry"));
  for (const json& name : chosen) EXPECT_TRUE(name.get<std::string>().starts_with("irq:")) << name;
  EXPECT_EQ(daemon.event_status("irq:softirq_entry")["enabled"], true);
  EXPECT_EQ(daemon.call("events.disable", {{"names", {"irq"}}})["events"].size(), chosen.size());
  EXPECT_THAT(daemon.call("events.enable", {{"names", {"signal"}}})["events"],
              testing::IsSupersetOf({"signal_generate", "signal_deliver"}));
  for (const char* call : {"events.enable", "events.disable"})
    EXPECT_EQ(daemon.call_error(call, {{"names", {"irqq"}}})["message"],
              "unknown event or group 'irqq'; did you mean 'irq'?");
}

TEST(Tracepoint, IsAddedByTheConfigurationAndRemovedByReload) {
  const json config = {
      {"events", {{"tracepoints", {"irq:softirq_*", "task:task_newtask", "no:such"}}}}};
  Daemon daemon(config);
  EXPECT_EQ(daemon.event_status("irq:softirq_raise")["enabled"], true);
  EXPECT_EQ(daemon.event_status("task:task_newtask")["enabled"], true);
  EXPECT_TRUE(daemon.logged("no:such"));
  daemon.write_config({{"events", {{"tracepoints", {"task:task_newtask"}}}}});
  EXPECT_THAT(daemon.call("reload")["changed"], Contains("events"));
  EXPECT_FALSE(daemon.call("events.list").dump().contains("irq:softirq_raise"));
  EXPECT_EQ(daemon.event_status("task:task_newtask")["enabled"], true);
}

TEST(Tracepoint, HistoryIsReadableAfterTheDaemonIsKilled) {
  json config = flight_config();
  config["events"] = {{"tracepoints", {"task:task_newtask", "sched:sched_process_exec"}}};
  Daemon daemon(config);
  const json before = run_truth({"fork", "5"});
  daemon.end(SIGKILL);
  const json between = run_truth({"fork", "7"});
  daemon.start();
  const json after = run_truth({"fork", "9"});
  const json taken = json::parse(daemon.ctl_ok({"--json", "snapshot", "take", "--name", "both"}));
  const std::string output = daemon.ctl_ok(
      {"show", taken["path"].get<std::string>(), "--format", "json", "--event", "task:*"});
  std::map<long, size_t> tasks;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) ++tasks[json::parse(line)["tid"].get<long>()];
  for (const json& truth : {before, between, after})
    EXPECT_EQ(tasks[truth["pid"].get<long>()], made_by(truth));
}

TEST(Tracepoint, WithoutAHitIsKnownToTheTrace) {
  Daemon daemon(flight_config());
  // It renames no thread of its own. Interrupts would hit other tracepoints while it runs.
  daemon.ctl_ok({"filter", "set", fmt::format("pid={}", ::getpid())});
  daemon.ctl_ok({"events", "enable", "task:task_rename"});
  const json taken = json::parse(daemon.ctl_ok({"--json", "snapshot", "take"}));
  const std::string path = taken["path"];
  const Finished shown = daemon.ctl({"show", path, "--event", "task:task_rename"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.err, HasSubstr("no event is selected by --event task:task_rename"));
  EXPECT_EQ(daemon.ctl_ok({"query", path, "SELECT count(*) AS hits FROM \"task:task_rename\""}),
            "hits\n   0\n");
}

TEST(Tracepoint, IsWrittenToARunningRecording) {
  Daemon daemon;
  const std::string trace = (daemon.directory() / "recording").string();
  const auto done = run(
      daemon.ctl_command({"record", "-o", trace, "--", "/bin/sh", "-c",
                          fmt::format("{} --socket {} events enable task:task_newtask && {} fork 4",
                                      kClientProgram, daemon.socket(), kTruthProgram)}));
  ASSERT_EQ(done.exit_code, 0) << done.err;
  const std::string output = daemon.ctl_ok({"show", trace, "--format", "json"});
  EXPECT_THAT(output, HasSubstr(R"("event":"task:task_newtask")"));
  const auto babeltrace = run({"babeltrace2", trace});
  EXPECT_EQ(babeltrace.err, "");
  EXPECT_THAT(babeltrace.out, HasSubstr("task:task_newtask"));
}

}  // namespace
}  // namespace ktraced::live
