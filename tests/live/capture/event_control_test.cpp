// SPDX-License-Identifier: BSD-2-Clause
// Events and groups are enabled and disabled while everything runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/client/stream.h"
#include "harness/machine/bpf_view.h"
#include "harness/traces/truth.h"
#include "kernel/programs/bpf_loader.h"
#include "schema/schema_from_btf.h"

namespace ktraced::live {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// The events that are built in, by the BPF object; of one group, if given.
std::vector<std::string> built_in_events(std::string_view group = {}) {
  auto schema = schema_from_object(bpf_object_bytes());
  if (!schema) throw std::runtime_error(schema.error().message);
  std::vector<std::string> names;
  for (const Event& event : schema->events())
    if (group.empty() || event.group == group) names.push_back(event.name);
  return names;
}

std::vector<std::string> with(std::vector<std::string> names, const char* name) {
  names.emplace_back(name);
  return names;
}

std::vector<std::string> enabled_events(Daemon& daemon) {
  std::vector<std::string> names;
  json events = daemon.call("status")["events"];
  for (const auto& [name, event] : events.items())
    if (event["enabled"] == true) names.push_back(name);
  return names;
}

TEST(Events, AreAllListedAndDisabledUnlessConfigured) {
  Daemon daemon;
  EXPECT_TRUE(enabled_events(daemon).empty());
  const json list = daemon.call("events.list")["events"];
  std::vector<std::string> names;
  for (const json& event : list) {
    names.push_back(event["name"]);
    EXPECT_TRUE(event["available"].get<bool>()) << event["name"] << ": " << event["reason"];
    EXPECT_FALSE(event["doc"].get<std::string>().empty()) << event["name"];
    EXPECT_FALSE(event["fields"].empty()) << event["name"];
    EXPECT_GE(event["size"].get<int>(), 16) << event["name"];
  }
  EXPECT_THAT(names, testing::UnorderedElementsAreArray(built_in_events()));
  const std::string text = daemon.ctl_ok({"events", "list"});
  for (const std::string& name : built_in_events()) EXPECT_THAT(text, HasSubstr(name));
  EXPECT_THAT(text, Not(HasSubstr("call_site")));
  EXPECT_THAT(daemon.ctl_ok({"events", "list", "--verbose"}), HasSubstr("call_site"));
  const json listed = json::parse(daemon.ctl_ok({"--json", "events", "list"}));
  EXPECT_EQ(listed["events"].size(), built_in_events().size());
}

TEST(Events, AreEnabledAndDisabledByGroupNameAndPattern) {
  Daemon daemon;
  const auto signal = built_in_events("signal");
  daemon.enable({"signal", "kfree"});
  EXPECT_THAT(enabled_events(daemon), testing::UnorderedElementsAreArray(with(signal, "kfree")));
  daemon.disable({"signal_deliver"});
  EXPECT_THAT(with(enabled_events(daemon), "signal_deliver"),
              testing::UnorderedElementsAreArray(with(signal, "kfree")));
  daemon.disable({"kmem", "signal"});
  EXPECT_TRUE(enabled_events(daemon).empty());
  daemon.enable({"signal_*", "k?ree"});
  EXPECT_THAT(enabled_events(daemon),
              testing::UnorderedElementsAre("signal_generate", "signal_deliver", "kfree"));
  EXPECT_THAT(daemon.ctl_ok({"events", "list", "signal_*"}), HasSubstr("signal_deliver"));
  daemon.disable({"*"});
  EXPECT_TRUE(enabled_events(daemon).empty());
  const json changed = json::parse(daemon.ctl_ok({"--json", "events", "enable", "oom"}));
  EXPECT_EQ(changed["events"], json(built_in_events("oom")));
}

TEST(Events, StayUnchangedWhenANameIsUnknownAndReportItInOneWording) {
  Daemon daemon;
  const std::string sentence = "unknown event or group 'kmallloc'; did you mean 'kmalloc'?\n";
  for (const Command& words :
       {Command{"events", "enable", "kfree", "kmallloc"}, Command{"events", "disable", "kmallloc"},
        Command{"events", "list", "kmallloc"}, Command{"stream", "--event", "kmallloc"}}) {
    const Finished refused = daemon.ctl(words);
    EXPECT_EQ(refused.exit_code, 64);
    EXPECT_EQ(refused.err, "ktracectl: " + sentence);
  }
  EXPECT_EQ(
      daemon.ctl({"filter", "set", "syscall=opennat"}).err,
      "ktracectl: filter.syscall[0]: unknown system call 'opennat'; did you mean 'openat'?\n");
  EXPECT_EQ(daemon.ctl({"probe", "remove", "nosuch"}).err,
            "ktracectl: unknown probe 'nosuch'; 'ktracectl probe list' lists all\n");
  EXPECT_EQ(
      daemon.call_error("events.enable", {{"names", {"nosuch*"}}})["message"],
      "unknown event or group 'nosuch*'; 'ktracectl events' lists the built-in ones, ktracectl "
      "events list '*:*' the tracepoints");
  EXPECT_TRUE(enabled_events(daemon).empty());
}

TEST(Events, AreShownOnlyWhileEnabled) {
  WaitingTruth before({"getppid", "10"}), during({"getppid", "20"}), after({"getppid", "40"});
  Daemon daemon;
  Stream stream(daemon, only_of({before.pid(), during.pid(), after.pid()}));
  before.act();
  daemon.enable({"syscalls"});
  during.act();
  daemon.disable({"syscalls"});
  after.act();
  Trace trace = stream.finish();
  auto calls = trace.events("sys_enter");
  std::erase_if(calls, [](const json& event) { return name_of(event, "nr") != "getppid"; });
  EXPECT_EQ(calls.size(), 20U);
}

TEST(Events, AreAttachedOnlyWhileEnabledAndRead) {
  RunStatistics counting;
  Daemon daemon(json{{"events", {{"kmem", {"kfree"}}, {"syscalls", true}}}});
  const auto attached = [&] { return attached_program_names(daemon.pid()); };
  EXPECT_THAT(attached(), AllOf(Not(Contains("kfree")), Not(Contains("sys_enter"))));
  Stream stream(daemon);
  EXPECT_THAT(attached(),
              AllOf(Contains("kfree"), Contains("sys_enter"), Not(Contains("kmalloc"))));
  daemon.disable({"syscalls"});
  EXPECT_THAT(attached(), Not(Contains("sys_enter")));
  const auto runs = [&] { return program_counts(daemon.pid(), "sys_enter").runs; };
  // The kernel may release a program with a delay.
  EXPECT_TRUE(eventually([&] {
    const uint64_t before = runs();
    run_truth({"getppid", "1000"});
    return runs() == before;
  }));
  EXPECT_EQ(program_counts(daemon.pid(), "kmalloc").runs, 0U);
  stream.finish();
  EXPECT_TRUE(eventually([&] { return !attached().contains("kfree"); }));
}

TEST(Pause, StopsEventsAndResumeContinues) {
  WaitingTruth paused({"getppid", "10"}), last({"getppid", "20"});
  const std::vector<pid_t> pids = {paused.pid(), last.pid()};
  Daemon daemon(for_processes(pids, {{"events", {{"syscalls", {{"only", {"getppid"}}}}}}}));
  Stream stream(daemon);
  Command options = only_of(pids);
  options.insert(options.end(), {"--event", "sys_enter"});
  Stream own(daemon, options);
  EXPECT_EQ(daemon.call("pause")["state"], "paused");
  EXPECT_EQ(daemon.call("status")["state"], "paused");
  paused.act();
  EXPECT_EQ(daemon.call("resume")["state"], "running");
  last.act();
  const Trace trace = stream.finish();
  EXPECT_EQ(trace.events("sys_enter", last.pid()).size(), 20U);
  EXPECT_TRUE(trace.events("sys_enter", paused.pid()).empty());
  EXPECT_EQ(own.finish().events("sys_enter").size(), 30U) << "it is not the recorder's";
}

TEST(Reset, EmptiesRingsAndZeroesCounters) {
  // The reader is slow, so most records from before a reset are still in the rings.
  Daemon daemon({{"events", {{"syscalls", {{"only", {"getppid"}}}}}},
                 {"filter", {{"comm", {own_name()}}}},
                 {"stream", {{"buffer_kb", 4096}, {"max_latency_ms", 10000}}}});
  daemon.disable({"sys_exit"});
  Stream stream(daemon);
  long calls = 0, discarded = 0;
  EXPECT_TRUE(eventually([&] {
    run_truth({"--comm", own_name(), "getppid", "100"});
    calls += 100;
    const long now = daemon.call("reset")["discarded"];
    discarded += now;
    return now == 100;
  }));
  const json status = daemon.event_status("sys_enter");
  EXPECT_EQ(status["recorded"], 0);
  EXPECT_EQ(status["dropped"], 0);
  run_truth({"--comm", own_name(), "getppid", "7"});
  calls += 7;
  EXPECT_EQ(daemon.event_status("sys_enter")["recorded"], 7);
  const Totals totals = stream.finish_and_count();
  EXPECT_GE(totals.shown, 7);
  EXPECT_EQ(totals.shown + discarded, calls);
  EXPECT_EQ(totals.lost, discarded);
}

}  // namespace
}  // namespace ktraced::live
