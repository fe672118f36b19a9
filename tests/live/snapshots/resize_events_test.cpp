// SPDX-License-Identifier: BSD-2-Clause
// What else has programs or state in the kernel goes on when the flight recorder is resized.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "harness/client/show.h"
#include "harness/client/stream.h"
#include "harness/traces/flight.h"
#include "harness/traces/resize.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

uint64_t hits_of(Daemon& daemon, const std::string& event) {
  const json status = daemon.event_status(event);
  EXPECT_EQ(status["dropped"], 0) << event;
  return status["recorded"].get<uint64_t>() + status["missed"].get<uint64_t>();
}

// The event has a hit for each numbered call.
void expect_hits_across_a_resize(json config, const std::string& event) {
  config["flight"]["buffer_kb"] = 4096;
  WaitingTruth before({"numbered", "1000"});
  WaitingTruth after({"numbered", "500"});
  WaitingTruth unattended({"numbered", "100"});
  config = for_processes({before.pid(), after.pid(), unattended.pid()}, config);
  Daemon daemon(config);
  Stream stream(daemon, {"--event", event});
  before.act();
  EXPECT_EQ(hits_of(daemon, event), 1000U);
  config["flight"]["buffer_kb"] = 1024;
  reload(daemon, config);
  after.act();
  EXPECT_EQ(hits_of(daemon, event), 1500U);
  const uint64_t missed = daemon.event_status(event)["missed"];
  EXPECT_EQ(stream.finish().events(event).size() + missed, 1500U);
  daemon.end(SIGKILL);
  unattended.act();
  daemon.start();
  EXPECT_EQ(hits_of(daemon, event), 1600U);
  const Trace trace(show({daemon.call("snapshot.take")["path"].get<std::string>()}).lines);
  EXPECT_EQ(trace.events(event, after.pid()).size() + trace.events(event, unattended.pid()).size() +
                missed,
            600U);
}

// The stub of a tracepoint stays attached, and calls the new program.
TEST(FlightResize, TakesTracepointsAlong) {
  json config = flight_config();
  config["events"]["tracepoints"] = {"syscalls:sys_enter_getpriority"};
  expect_hits_across_a_resize(config, "syscalls:sys_enter_getpriority");
}

// A probe has a program of its own, which is loaded again.
TEST(Probe, IsTakenAlongWhenTheFlightRecorderIsResized) {
  json config = flight_config();
  config["probes"] = {"p:mine __x64_sys_getpriority"};
  expect_hits_across_a_resize(config, "kprobes:mine");
}

TEST(FlightResize, FollowsProcessesThatBeginMeanwhile) {
  Daemon daemon(flight_config({{"buffer_kb", 4096}}));
  // Forks all the time; each child calls once.
  Process shell({"/bin/sh", "-c",
                 "echo ready; read go; while [ ! -e " + (daemon.directory() / "end").string() +
                     " ]; do (:); done; " + kTruthProgram + " numbered 100"});
  ASSERT_TRUE(eventually([&] { return shell.out().contains("ready"); }));
  json config = flight_config({{"buffer_kb", 4096}});
  config["filter"] = {{"follow", {shell.pid()}}};
  reload(daemon, config);
  shell.write_input("go\n");
  config["flight"]["buffer_kb"] = 1024;
  reload(daemon, config);
  const uint64_t before = daemon.event_status("sys_enter")["recorded"];
  std::ofstream(daemon.directory() / "end").flush();
  EXPECT_EQ(shell.wait().exit_code, 0);
  EXPECT_GE(daemon.event_status("sys_enter")["recorded"], before + 100);
}

}  // namespace
}  // namespace ktraced::live
