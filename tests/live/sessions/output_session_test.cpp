// SPDX-License-Identifier: BSD-2-Clause
// The session of stream.output with events and a filter of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "harness/client/show.h"
#include "harness/client/stream.h"
#include "harness/client/stream_output.h"
#include "harness/traces/flight.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class OutputSession : public testing::Test {
 protected:
  // The recorder records numbered calls of one process. `own`: events and filter of the output.
  json config_of(const json& own, pid_t recorded) {
    json config = flight_config({{"buffer_kb", 8192}});
    config["filter"] = {{"pid", {recorded}}};
    config["stream"] = {{"buffer_kb", 16384}, {"output", own}};
    config["stream"]["output"]["directory"] = here_;
    return config;
  }
  static json only(const std::string& syscall) { return {{"syscalls", {{"only", {syscall}}}}}; }
  static json session(Daemon& daemon) {
    return daemon.call("session.show", {{"session", "output"}});
  }
  // The events in all traces of the output.
  std::vector<json> written() {
    const auto traces = traces_in(here_);
    return show({traces.begin(), traces.end()}).lines;
  }

  TempDir directory_;
  const fs::path here_ = directory_.path() / "traces";
};

size_t calls_of(const std::vector<json>& events, pid_t pid, const std::string& name,
                const std::string& event = "sys_enter") {
  return static_cast<size_t>(std::ranges::count_if(events, [&](const json& line) {
    return line.value("event", "") == event && line["pid"] == pid && name_of(line, "nr") == name;
  }));
}

TEST_F(OutputSession, HasExactlyItsOwnEventsOfItsOwnTasks) {
  WaitingTruth recorded({"numbered", "1000"}), output({"getppid", "700"});
  json own = {{"events", only("getppid")}, {"filter", {{"pid", {output.pid()}}}}};
  own["events"]["process"] = {"sched_process_exit"};
  Daemon daemon(config_of(own, recorded.pid()));
  EXPECT_EQ(session(daemon)["own_events"], true);
  EXPECT_EQ(session(daemon)["own_filter"], true);
  recorded.act();
  output.act();
  EXPECT_EQ(session(daemon)["counts"]["sys_enter"]["recorded"], 700);
  EXPECT_EQ(take_numbers(daemon, recorded.pid()), from_to(1, 1000));
  EXPECT_EQ(daemon.event_status("sys_enter")["recorded"], 1000);
  EXPECT_EQ(daemon.stop().exit_code, 0);

  const std::vector<json> events = written();
  EXPECT_EQ(calls_of(events, output.pid(), "getppid"), 700U);
  EXPECT_EQ(calls_of(events, output.pid(), "getppid", "sys_exit"), 700U);
  EXPECT_THAT(events, SizeIs(2 * 700 + 1)) << "and the end of the process";
  const json config = manifest_of(traces_in(here_).front())["config"];
  EXPECT_EQ(config["syscalls_only"], json::array({"getppid"}));
  EXPECT_EQ(config["filter"]["pid"], json::array({output.pid()}));
  EXPECT_THAT(config["events"], testing::Contains("sched_process_exit"));
}

TEST_F(OutputSession, TakesWhatIsNotGivenFromTheRecorderAlsoWhenThatChanges) {
  WaitingTruth first({"getppid", "100"}), second({"getppid", "200"}), numbered({"numbered", "50"});
  Daemon daemon(config_of({{"events", only("getppid")}}, first.pid()));
  EXPECT_EQ(session(daemon)["own_filter"], false);
  first.act();
  daemon.set_filter({{"pid", {second.pid(), numbered.pid()}}});
  second.act();
  numbered.act();
  EXPECT_EQ(take_numbers(daemon, numbered.pid()), from_to(1, 50));
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const std::vector<json> events = written();
  EXPECT_EQ(calls_of(events, first.pid(), "getppid"), 100U);
  EXPECT_EQ(calls_of(events, second.pid(), "getppid"), 200U);
  EXPECT_THAT(events, SizeIs(2 * 300));
}

TEST_F(OutputSession, IsChangedByReloadAndByCommands) {
  WaitingTruth recorded({"numbered", "0", "20"}), first({"getppid", "100"}),
      second({"getppid", "200"}), third({"getppid", "300"}), fourth({"getppid", "400"});
  const auto own = [&](const json& pids) {
    return config_of({{"events", only("getppid")}, {"filter", {{"pid", pids}}}}, recorded.pid());
  };
  Daemon daemon(own({first.pid()}));
  recorded.go();
  first.act();
  daemon.write_config(own({second.pid()}));
  EXPECT_EQ(daemon.call("reload")["changed"], json::array({"stream"}));
  second.act();
  daemon.ctl_ok({"filter", "set", "pid=" + std::to_string(third.pid()), "--session", "output"});
  daemon.ctl_ok({"events", "disable", "sys_exit", "--session", "output"});
  third.act();
  EXPECT_EQ(daemon.call("reload")["changed"], json::array({"stream"})) << "undoes the commands";
  EXPECT_EQ(session(daemon)["filter"]["pid"], json::array({second.pid()}));
  daemon.write_config(config_of(json::object(), recorded.pid()));
  EXPECT_EQ(daemon.call("reload")["changed"], json::array({"stream"}));
  EXPECT_EQ(session(daemon)["own_events"], false);
  EXPECT_EQ(session(daemon)["own_filter"], false);
  fourth.act();
  const uint64_t calls = recorded.finish()["count"];
  const std::vector<uint64_t> numbers = take_numbers(daemon, recorded.pid());
  EXPECT_EQ(numbers, from_to(calls + 1 - numbers.size(), calls)) << "without a gap";
  EXPECT_EQ(daemon.stop().exit_code, 0);

  const std::vector<json> events = written();
  EXPECT_EQ(calls_of(events, first.pid(), "getppid"), 100U);
  EXPECT_EQ(calls_of(events, second.pid(), "getppid"), 200U);
  EXPECT_EQ(calls_of(events, third.pid(), "getppid"), 300U);
  EXPECT_EQ(calls_of(events, third.pid(), "getppid", "sys_exit"), 0U);
  EXPECT_EQ(calls_of(events, fourth.pid(), "getppid"), 0U);
}

TEST_F(OutputSession, ContinuesWithItsOwnInTheNextDaemon) {
  WaitingTruth recorded({"numbered", "1000"}), before({"getppid", "100"}),
      during({"getppid", "200"}), after({"getppid", "300"});
  Daemon daemon(
      config_of({{"events", only("getppid")}, {"filter", {{"pid", {during.pid(), after.pid()}}}}},
                recorded.pid()));
  before.act();
  daemon.end(SIGKILL);
  recorded.act();
  during.act();
  daemon.start();
  after.act();
  EXPECT_EQ(take_numbers(daemon, recorded.pid()), from_to(1, 1000));
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const std::vector<json> events = written();
  EXPECT_EQ(calls_of(events, during.pid(), "getppid"), 200U);
  EXPECT_EQ(calls_of(events, after.pid(), "getppid"), 300U);
  EXPECT_THAT(events, SizeIs(2 * 500)) << "none of others";
}

// The recorder, whose filter is replaced first, has other calls than the output.
TEST_F(OutputSession, KeepsItsFilterWhileTheNextDaemonBegins) {
  WaitingTruth recorded({"numbered", "10"}), selected({"getppid", "100"});
  const Process others({kTruthProgram, "load", "2"});
  Daemon daemon(config_of({{"events", only("getppid")}, {"filter", {{"pid", {selected.pid()}}}}},
                          recorded.pid()));
  daemon.end(SIGKILL);
  daemon.start();
  selected.act();
  EXPECT_EQ(daemon.stop().exit_code, 0);
  EXPECT_THAT(written(), SizeIs(2 * 100));
}

TEST_F(OutputSession, NamesThePlaceOfABadValue) {
  Daemon daemon(config_of(json::object(), ::getpid()));
  const auto refused = [&](const json& own) {
    daemon.write_config(config_of(own, ::getpid()));
    return daemon.call_error("reload")["message"].get<std::string>();
  };
  EXPECT_THAT(refused({{"filter", {{"follow", {4'190'000}}}}}),
              AllOf(HasSubstr(": stream.output.filter: "), HasSubstr("no such process")));
  EXPECT_THAT(refused({{"events", {{"kmem", {"kmaloc"}}}}}),
              AllOf(HasSubstr("stream.output.events.kmem[0]: "), HasSubstr("kmalloc")));
  EXPECT_EQ(session(daemon)["own_events"], false);
  EXPECT_EQ(session(daemon)["own_filter"], false);

  json config = config_of({{"filter", {{"cgroup", {"no/such/group"}}}}}, ::getpid());
  config["stream"]["output"]["events"] = {{"tracepoints", {"sched:sched_swich"}}};
  daemon.write_config(config);
  const Finished checked =
      run({kDaemonProgram, "--config", daemon.config_file(), "--check-config"});
  EXPECT_EQ(checked.exit_code, 78);
  EXPECT_THAT(checked.err, HasSubstr(": stream.output.events.tracepoints[0]: "));
  config["stream"]["output"]["events"] = {{"tracepoints", {"sched:sched_switch"}}};
  daemon.write_config(config);
  const Finished tried =
      run({kDaemonProgram, "--config", daemon.config_file(), "--check-config", "--load"});
  EXPECT_EQ(tried.exit_code, 78);
  EXPECT_THAT(tried.err, HasSubstr("stream.output.filter: "));
}

}  // namespace
}  // namespace ktraced::live
