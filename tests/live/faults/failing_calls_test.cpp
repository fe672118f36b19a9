// SPDX-License-Identifier: BSD-2-Clause
// System calls of the daemon fail, by strace's injection. KTRACED_FAULT_STEP: every how many calls
// of bpf(), or loads and attachments of programs, one fails in a start of its own; 1 tries them
// all.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "harness/client/daemon.h"
#include "harness/machine/bpf_view.h"
#include "harness/machine/bpffs.h"
#include "harness/machine/scale.h"
#include "harness/traces/flight.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// A command that runs the daemon as its child would be: `-D` leaves it the process of the test.
Command with_fault(const std::string& calls, const std::string& fault, const fs::path& log) {
  Command command = {"strace", "-D", "-f", "--seccomp-bpf", "-qq",
                     "-o",     log,  "-e", "trace=" + calls};
  if (!fault.empty()) command.insert(command.end(), {"-e", "inject=" + calls + ":" + fault});
  return command;
}

size_t lines_with(const fs::path& file, std::string_view text, const std::string& begin = "") {
  std::ifstream in(file);
  size_t found = 0;
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(begin) && line.find(text) != std::string::npos) ++found;
  return found;
}

json config_of_faults() {
  json config = flight_config({{"buffer_kb", 64}});
  config["events"] = {{"sched", true}, {"process", true}, {"signal", true}, {"syscalls", true}};
  return config;
}

// How often the daemon's main thread calls bpf() until it answers: strace counts by thread.
size_t calls_of_a_start(const fs::path& log) {
  Daemon daemon(config_of_faults(), with_fault("bpf", "", log));
  const size_t calls = lines_with(log, "bpf(", fmt::format("{} ", daemon.pid()));
  EXPECT_EQ(daemon.stop().exit_code, 0);
  return calls;
}

json config_of_faults(const Bpffs& bpffs) {
  json config = config_of_faults();
  config["bpffs"] = bpffs.path() / "pins";
  return config;
}

// A daemon without an event says which and why; one that does not start says why. Neither leaves
// pins.
void expect_clear_outcome(const std::string& fault, const fs::path& log) {
  SCOPED_TRACE(fault);
  const Bpffs bpffs;  // nobody else has pins there
  try {
    Daemon daemon(config_of_faults(bpffs), with_fault("bpf", fault, log));
    const json status = daemon.call("status");
    for (const auto& [name, event] : status["events"].items())
      EXPECT_FALSE(event["available"] == false && event.value("reason", "").empty()) << name;
    daemon.call("snapshot.take");
    EXPECT_EQ(daemon.stop().exit_code, 0);
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("did not come up"));
    EXPECT_THAT(error.what(), HasSubstr("ktraced: "));
  }
  EXPECT_TRUE(bpffs.is_unused()) << "pins are left";
  EXPECT_GE(lines_with(log, "(INJECTED)"), 1U) << "once in each thread";
  EXPECT_EQ(lines_with(log, "killed by"), 0U);
}

// Every how many calls one fails: with KTRACED_TEST_WHOLE one in `of_whole`, otherwise one in
// `usual`, unless KTRACED_FAULT_STEP says it.
size_t step_of(size_t usual, size_t of_whole) {
  const char* chosen = std::getenv("KTRACED_FAULT_STEP");
  if (chosen != nullptr) return std::stoul(chosen);
  return static_cast<size_t>(usual_or_whole(static_cast<long>(usual), static_cast<long>(of_whole)));
}

// With other exit codes than this one, the service manager tries no further start.
TEST(FailingCalls, OfBpfForLackOfMemoryEndInAStartThatIsTriedAgain) {
  TempDir directory;
  try {
    Daemon daemon(config_of_faults(),
                  with_fault("bpf", "error=ENOMEM:when=20+", directory.path() / "log"));
    ADD_FAILURE() << "it started without memory";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("out of memory"));
    EXPECT_THAT(error.what(), HasSubstr("exit code 71"));
  }
}

TEST(FailingCalls, OfBpfEndInAMessageOrAnUnavailableEvent) {
  TempDir directory;
  const size_t calls = calls_of_a_start(directory.path() / "calls");
  ASSERT_GT(calls, 100U);
  const size_t step = step_of(calls / 3, calls / 8);
  for (size_t call = 1; call <= calls; call += step)
    expect_clear_outcome(
        fmt::format("error={}:when={}", call / step % 2 == 0 ? "ENOMEM" : "EPERM", call),
        directory.path() / "log");
}

// A call of bpf() that loads or attaches a program.
struct ProgramCall {
  size_t number = 0;    // among the calls of the main thread, from 1
  std::string program;  // that it loads, cut to 15 characters by the kernel; empty: it attaches one
};

// A start without a fault.
struct Start {
  std::vector<ProgramCall> calls;
  json status;  // what is unavailable there is missing on this machine
};

Start observed_start(const fs::path& log, const json& config = config_of_faults()) {
  Daemon daemon(config, with_fault("bpf", "", log));
  Start start{.calls = {}, .status = daemon.call("status")};
  const std::string main_thread = fmt::format("{} ", daemon.pid());
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const std::regex load(R"re(\(BPF_PROG_LOAD.*prog_name="([a-z_]+)")re");
  const std::set<std::string> trials = {"libbpf_nametest", "typed", "on_function", "arena"};
  bool trial = false;  // of a feature, which may be attached too
  std::ifstream in(log);
  size_t number = 0;
  std::smatch match;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(main_thread) || !line.contains("bpf(")) continue;
    ++number;
    if (std::regex_search(line, match, load)) {
      trial = trials.contains(match[1]);
      if (!trial) start.calls.push_back({.number = number, .program = match[1]});
    } else if (!trial && line.contains("(BPF_RAW_TRACEPOINT_OPEN")) {
      start.calls.push_back({.number = number, .program = {}});
    }
  }
  return start;
}

// What a status says to be unavailable, with the reason: helper programs and events.
std::map<std::string, std::string> unavailable_helpers_in(const json& status) {
  std::map<std::string, std::string> reasons;
  for (const json& helper : status["unavailable_helpers"])
    reasons[helper["program"]] = helper["reason"];
  return reasons;
}
std::map<std::string, std::string> unavailable_events_in(const json& status) {
  std::map<std::string, std::string> reasons;
  for (const auto& [name, event] : status["events"].items())
    if (event["available"] == false) reasons[name] = event["reason"];
  return reasons;
}

// Those that are not in `before`.
std::map<std::string, std::string> added(std::map<std::string, std::string> reasons,
                                         const std::map<std::string, std::string>& before) {
  std::erase_if(reasons, [&](const auto& entry) { return before.contains(entry.first); });
  return reasons;
}

// One event or helper program is missing, with the reason; the other events are recorded. Without a
// program of the arena, the daemon loads all others again, with rings in maps.
void expect_all_but_one(Daemon& daemon, const std::string& program, const json& before) {
  const bool of_arena = program == "make_pages" || program == "free_pages";
  const json status = daemon.call("status");
  auto missing = added(unavailable_helpers_in(status), unavailable_helpers_in(before));
  missing.merge(added(unavailable_events_in(status), unavailable_events_in(before)));
  EXPECT_EQ(missing.size(), of_arena ? 0U : 1U) << testing::PrintToString(missing);
  for (const auto& [name, reason] : missing)
    EXPECT_THAT(reason, HasSubstr("out of memory")) << name;
  for (const auto& [name, event] : status["events"].items())
    EXPECT_TRUE(event["available"] == false || event["attached"] == event["enabled"]) << name;
  EXPECT_GT(daemon.call("snapshot.take")["records"].get<uint64_t>(), 0U);
}

// libbpf tries a load that has failed once more, for the verifier's log.
std::string fault_of(const ProgramCall& call, const char* error = "ENOMEM") {
  return call.program.empty()
             ? fmt::format("error={}:when={}", error, call.number)
             : fmt::format("error={}:when={}..{}", error, call.number, call.number + 1);
}

// The daemon finds itself with the program "calibrate": without that it does not start.
void expect_no_start(const ProgramCall& call, const json& config, const fs::path& log) {
  try {
    const Daemon daemon(config, with_fault("bpf", fault_of(call), log));
    ADD_FAILURE() << "it has started";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("ktraced: cannot run a BPF program once at start: "));
    EXPECT_THAT(error.what(), HasSubstr("out of memory"));
  }
}

void expect_service_without(const ProgramCall& call, const json& before, const fs::path& log) {
  SCOPED_TRACE(fmt::format("call {}, {}", call.number, call.program));
  const Bpffs bpffs;  // nobody else has pins there
  const json config = config_of_faults(bpffs);
  if (call.program == "calibrate") {
    expect_no_start(call, config, log);
  } else {
    Daemon daemon(config, with_fault("bpf", fault_of(call), log));
    EXPECT_TRUE(daemon.logged(call.program.empty() ? "cannot attach '"
                                                   : "refused the program '" + call.program));
    expect_all_but_one(daemon, call.program, before);
    const BpfObjects objects = bpf_objects_of(daemon.pid());
    EXPECT_EQ(daemon.stop().exit_code, 0);
    EXPECT_TRUE(eventually([&] {
      const BpfObjects left = still_there(objects);
      return left.programs.empty() && left.maps.empty() && left.links.empty();
    }));
  }
  EXPECT_TRUE(bpffs.is_unused()) << "pins are left";
  EXPECT_GE(lines_with(log, "(INJECTED)"), 1U);
}

TEST(FailingPrograms, AreReportedWhileTheOthersServe) {
  TempDir directory;
  const fs::path log = directory.path() / "calls";
  const Start start = observed_start(log);
  ASSERT_GT(start.calls.size(), 40U);
  const size_t step = step_of(20, 5);
  for (size_t i = 0; i < start.calls.size(); i += step)
    expect_service_without(start.calls[i], start.status, log);
}

// `before`: the status without the fault.
void expect_helper_reported(Daemon& daemon, const json& before, const fs::path& metrics,
                            const std::string& reason) {
  const auto missing = unavailable_helpers_in(before);
  EXPECT_THAT(added(unavailable_helpers_in(daemon.call("status")), missing),
              ElementsAre(Pair("child_born", HasSubstr(reason))));
  EXPECT_THAT(daemon.ctl_ok({"status"}),
              testing::AllOf(HasSubstr("not available: child_born ("), HasSubstr(reason)));
  EXPECT_THAT(run({"curl", "--silent", "--unix-socket", metrics, "http://localhost/metrics"}).out,
              HasSubstr(fmt::format("\nktraced_helpers_unavailable {}\n", missing.size() + 1)));
}

// The next daemon, which adopts the other programs, reports it too.
TEST(FailingPrograms, OfNoEventAreInTheStatusAndInTheMetrics) {
  TempDir directory;
  const fs::path log = directory.path() / "calls", metrics = directory.path() / "metrics.sock";
  const Start start = observed_start(log);
  const auto call = std::ranges::find(start.calls, "child_born", &ProgramCall::program);
  ASSERT_NE(call, start.calls.end());
  json config = config_of_faults();
  config["metrics"] = {{"listen", metrics}};
  Daemon daemon(config, with_fault("bpf", fault_of(*call), log));
  expect_helper_reported(daemon, start.status, metrics, "out of memory");
  daemon.end(SIGKILL);
  config["bpffs"] = daemon.pins();
  Daemon next(config);  // strace would count its calls from 1 again
  EXPECT_TRUE(next.logged("adopted what"));
  expect_helper_reported(next, start.status, metrics, "refused its program when it was loaded");
  EXPECT_EQ(next.stop().exit_code, 0);
}

// Others are allowed, so the daemon may load programs.
TEST(FailingPrograms, ThatTheKernelForbidsAreReportedWhileTheOthersServe) {
  TempDir directory;
  const fs::path log = directory.path() / "calls";
  const Start start = observed_start(log);
  const auto call = std::ranges::find(start.calls, "child_born", &ProgramCall::program);
  ASSERT_NE(call, start.calls.end());
  Daemon daemon(config_of_faults(), with_fault("bpf", fault_of(*call, "EPERM"), log));
  EXPECT_THAT(
      added(unavailable_helpers_in(daemon.call("status")), unavailable_helpers_in(start.status)),
      ElementsAre(Pair("child_born", HasSubstr("Operation not permitted"))));
  EXPECT_GT(daemon.call("snapshot.take")["records"].get<uint64_t>(), 0U);
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// Otherwise the first children would not be followed, and nobody would know.
TEST(FailingPrograms, ThatFollowProcessesEndAStartWhoseFilterNeedsThem) {
  TempDir directory;
  const fs::path log = directory.path() / "calls";
  WaitingTruth truth({"numbered", "1"});
  json config = config_of_faults();
  config["filter"] = {{"follow", {truth.pid()}}};
  const Start start = observed_start(log, config);
  const auto call = std::ranges::find(start.calls, "", &ProgramCall::program);  // attached first
  ASSERT_NE(call, start.calls.end());
  try {
    const Daemon daemon(config, with_fault("bpf", fault_of(*call), log));
    ADD_FAILURE() << "it has started";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("exit code 69"));
    EXPECT_THAT(error.what(), HasSubstr("cannot attach 'sched_process_fork': out of memory"));
  }
}

TEST(FailingPrograms, ForStacksAreReportedAndTheirEventIsRecordedWithout) {
  TempDir directory;
  const fs::path log = directory.path() / "calls", recording = directory.path() / "recording";
  json config = config_of_faults();
  config["stacks"] = {{"events", {"sched_switch"}}};
  const Start start = observed_start(log, config);
  const auto call = std::ranges::find_if(start.calls, [](const ProgramCall& each) {
    return each.program.starts_with("stacked_sched_s");
  });
  ASSERT_NE(call, start.calls.end());
  Daemon daemon(config, with_fault("bpf", fault_of(*call, "EPERM"), log));
  const std::string reason =
      "the kernel refuses the program for stacks of sched_switch: Operation not permitted";
  EXPECT_TRUE(daemon.logged("sched_switch is recorded without stacks: " + reason));
  EXPECT_THAT(
      added(unavailable_helpers_in(daemon.call("status")), unavailable_helpers_in(start.status)),
      ElementsAre(Pair("sched_switch with stacks", HasSubstr(reason))));
  const Finished refused = daemon.ctl({"record", "-o", recording, "--event", "sched_switch",
                                       "--stacks", "sched_switch", "--", "true"});
  EXPECT_EQ(refused.exit_code, 69);
  EXPECT_THAT(refused.err, HasSubstr("sched_switch has no stacks: " + reason));
  EXPECT_FALSE(fs::exists(recording));
  EXPECT_GT(daemon.call("snapshot.take")["records"].get<uint64_t>(), 0U);
  EXPECT_GT(daemon.event_status("sched_switch")["recorded"].get<uint64_t>(), 0U);
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

TEST(FailingCalls, OfPerfEventsLeaveADaemonWithoutSamples) {
  const std::string reason =
      "no permission to take samples: perf_event_open(2) needs the capability CAP_PERFMON, or 0 or "
      "less in kernel.perf_event_paranoid";
  for (const std::string error : {"EACCES", "EPERM"}) {
    SCOPED_TRACE(error);
    TempDir directory;
    const fs::path log = directory.path() / "calls", recording = directory.path() / "recording";
    json config = config_of_faults();
    config["sampling"] = {{"period", "10ms"}};
    Daemon daemon(config, with_fault("perf_event_open", "error=" + error, log));
    EXPECT_TRUE(daemon.logged(reason));
    EXPECT_TRUE(eventually([&] { return lines_with(log, "(INJECTED)") != 0; }));
    const json status = daemon.call("status");
    EXPECT_EQ(status["events"]["cpu_sample"]["available"], false);
    EXPECT_EQ(status["events"]["cpu_sample"]["reason"], reason);
    EXPECT_EQ(status["events"]["sched_switch"]["attached"], true);
    EXPECT_EQ(status["sampling"]["enabled"], false);
    const Finished refused =
        daemon.ctl({"record", "-o", recording, "--event", "cpu_sample", "--", "true"});
    EXPECT_EQ(refused.exit_code, 69);
    EXPECT_EQ(std::ranges::count(refused.err, '\n'), 1) << refused.err;
    EXPECT_THAT(refused.err, HasSubstr(reason));
    EXPECT_FALSE(fs::exists(recording));
    EXPECT_GT(daemon.call("snapshot.take")["records"].get<uint64_t>(), 0U);
    EXPECT_EQ(daemon.stop().exit_code, 0);
  }
}

// They fail from when it serves: strace attaches to it then.
TEST(FailingCalls, OfBpfWhileItServesRefuseASessionAndKeepTheHistory) {
  TempDir directory;
  WaitingTruth truth({"numbered", "1000"});
  Daemon daemon(flight_config_for({truth.pid()}, {{"buffer_kb", 1024}}));
  const Process strace({"strace", "-f", "-qq", "-o", directory.path() / "log", "-e", "trace=bpf",
                        "-e", "inject=bpf:error=ENOMEM", "-p", std::to_string(daemon.pid())});
  ASSERT_TRUE(eventually([&] {
    return process_status(daemon.pid(), "TracerPid") == std::to_string(strace.pid());
  })) << strace.err();
  truth.act();
  const json refused =
      RpcConnection(daemon.socket()).call("stream.subscribe", {{"events", {"sched"}}});
  ASSERT_TRUE(refused.contains("error")) << refused;
  EXPECT_THAT(refused["error"]["message"].get<std::string>(),
              AnyOf(HasSubstr("out of memory"), HasSubstr("there is no memory")));
  EXPECT_EQ(daemon.call("session.list")["sessions"].size(), 1U);
  EXPECT_EQ(take_numbers(daemon, truth.pid()), from_to(1, 1000));
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

// Each snapshot is whole or fails with a message; none is left half written.
TEST(FailingCalls, OfFilesFailOneSnapshotAndNotTheNext) {
  for (const std::string calls : {"fsync", "writev", "mkdirat", "renameat"}) {
    SCOPED_TRACE(calls);
    TempDir directory;
    Daemon daemon(flight_config({{"buffer_kb", 256}}),
                  with_fault(calls, "error=EIO:when=3+5", directory.path() / "log"));
    int failed = 0;
    for (int i = 0; i < 6; ++i) {
      const json answer = RpcConnection(daemon.socket()).call("snapshot.take");
      if (answer.contains("error")) {
        ++failed;
        EXPECT_THAT(answer["error"]["message"].get<std::string>(), HasSubstr("Input/output error"));
        EXPECT_EQ(answer["error"]["data"]["exit_code"], 74);
      } else {
        EXPECT_TRUE(complete_but_for_missed(answer["result"])) << answer;
        EXPECT_TRUE(manifest_of(answer["result"]["path"].get<std::string>()).contains("schema"));
      }
    }
    EXPECT_GT(failed, 0);
    EXPECT_GT(lines_with(directory.path() / "log", "(INJECTED)"), 0U);
    for (const auto& entry : fs::directory_iterator(daemon.directory() / "snapshots"))
      EXPECT_NE(entry.path().extension(), ".partial");
    EXPECT_EQ(daemon.stop().exit_code, 0);
  }
}

// Each packet is written in many short writes, as strace counts them.
TEST(FailingCalls, OfFilesThatWriteHalfLeaveAWholeTrace) {
  TempDir directory;
  const fs::path log = directory.path() / "log";
  Command wrapper = with_fault("writev", "", log);
  wrapper.insert(wrapper.end(), {"-E", "LD_PRELOAD=" KTRACED_SHORT_WRITES});
  WaitingTruth truth({"numbered", "1000"});
  Daemon daemon(flight_config_for({truth.pid()}, {{"buffer_kb", 256}}), wrapper);
  truth.act();
  const json taken = daemon.call("snapshot.take");
  EXPECT_TRUE(complete_but_for_missed(taken)) << taken;
  const std::string path = taken["path"];
  EXPECT_EQ(numbers_in(path, truth.pid()), from_to(1, 1000));
  size_t packets = 0;
  for_each_packet(path, [&](const PacketView&) { ++packets; });
  EXPECT_GT(lines_with(log, "writev("), 4 * packets);
  const json shown = json::parse(daemon.ctl_ok({"--json", "show", path, "--count", "1"}));
  EXPECT_EQ(shown["tid"], truth.pid());
  EXPECT_EQ(daemon.stop().exit_code, 0);
}

}  // namespace
}  // namespace ktraced::live
