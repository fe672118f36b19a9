// SPDX-License-Identifier: BSD-2-Clause
// Text formats: order, ftrace lines, symbols, output streams.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>
#include <sstream>

#include "harness/client/stream.h"
#include "harness/machine/scale.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

using testing::HasSubstr;
using testing::Not;

// The form of a line that Perfetto's importer of ftrace text expects.
const std::regex kFtraceLine(
    R"(-(\d+)\s+\(?\s*(\d+|-+)?\)?\s?\[(\d+)\]\s*([a-zA-Z.]{3}[0-9a-f.]{1,2}\s*)?(\d+\.\d+):\s+(\S+):)");

// The standard output of `ktracectl stream` while the machine works.
std::string streamed(const json& config, const Command& options) {
  Daemon daemon(config);
  Process client(daemon.ctl_command(options));
  EXPECT_TRUE(eventually([&] { return daemon.call("status")["subscribers"].size() == 1; }));
  run_truth({"--comm", "odd name [1]", "switch", "50", "0"});
  run_truth({"fork"});
  run_truth({"kmem"});
  client.send(SIGINT);
  Finished finished = client.wait();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  return finished.out;
}

const json kEverything = {{"events",
                           {{"sched", true},
                            {"process", true},
                            {"kmem", true},
                            {"syscalls", true},
                            {"signal", true},
                            {"oom", true}}},
                          {"stream", {{"buffer_kb", 16384}}}};

TEST(JsonOutput, OrdersLinesOfAllCpusByTime) {
  Daemon daemon(kEverything);
  Stream stream(daemon);
  const long switches = scaled(2000);
  WaitingTruth one({"--cpu", "0", "switch", std::to_string(switches), "0"}),
      two({"--cpu", "1", "switch", std::to_string(switches), "1"});
  one.go();
  two.go();
  one.act();
  two.act();
  Trace trace = stream.finish();
  uint64_t last = 0;
  std::set<long> cpus;
  for (const json& line : trace.lines()) {
    EXPECT_GE(line["ts"].get<uint64_t>(), last);
    last = line["ts"];
    cpus.insert(line["cpu"].get<long>());
  }
  EXPECT_GE(cpus.size(), 2U);
  EXPECT_GT(trace.lines().size(), static_cast<size_t>(5 * switches));
}

TEST(JsonOutput, CallSitesAreSymbols) {
  Daemon daemon(json{{"events", {{"kmem", {"kmalloc"}}}}});
  Stream stream(daemon, {"--comm", "truth"});
  run_truth({"kmem"});
  auto events = stream.finish().events("kmalloc");
  ASSERT_FALSE(events.empty());
  for (const json& event : events) EXPECT_THAT(name_of(event, "call_site"), HasSubstr("+0x"));
}

TEST(FtraceOutput, HasTheHeaderAndLinesThatImportersExpect) {
  std::istringstream text(streamed(kEverything, {"stream", "--format", "ftrace"}));
  std::string line;
  ASSERT_TRUE(std::getline(text, line));
  EXPECT_EQ(line, "# tracer: nop");
  long events = 0;
  std::set<std::string> names;
  while (std::getline(text, line)) {
    if (line.starts_with("#") || line.find("LOST") != std::string::npos) continue;
    std::smatch match;
    ASSERT_TRUE(std::regex_search(line, match, kFtraceLine)) << line;
    names.insert(match[6]);
    ++events;
  }
  EXPECT_GT(events, 1000);
  for (const char* name : {"sched_switch", "sched_waking", "kmalloc", "kfree", "sys_enter",
                           "sched_process_exit", "signal_generate"})
    EXPECT_TRUE(names.contains(name)) << name;
}

TEST(FtraceOutput, PrintsFieldsLikeTheKernel) {
  std::string text = streamed(kEverything, {"stream", "--format", "ftrace"});
  EXPECT_TRUE(std::regex_search(
      text,
      std::regex(
          R"(sched_switch: prev_comm=.* prev_pid=\d+ prev_prio=\d+ prev_state=\S+ ==> next_comm=.* next_pid=\d+ next_prio=\d+\n)")));
  EXPECT_TRUE(std::regex_search(
      text, std::regex(R"(sched_wakeup: comm=.* pid=\d+ prio=\d+ target_cpu=\d{3}\n)")));
  EXPECT_TRUE(std::regex_search(
      text,
      std::regex(R"(sched_process_fork: comm=truth pid=\d+ child_comm=truth child_pid=\d+\n)")));
  EXPECT_TRUE(
      std::regex_search(text, std::regex(R"(sys_enter: NR \d+ \([0-9a-f]+(, [0-9a-f]+){5}\)\n)")));
  EXPECT_TRUE(std::regex_search(text, std::regex(R"(sys_exit: NR \d+ = -?\d+\n)")));
}

TEST(Output, WritesResultsToStandardOutputWithoutColours) {
  Daemon daemon(kEverything);
  Finished status = daemon.ctl({"status"});
  EXPECT_EQ(status.exit_code, 0);
  EXPECT_EQ(status.err, "");
  EXPECT_THAT(status.out, HasSubstr("sys_enter"));
  EXPECT_THAT(status.out, Not(HasSubstr("\x1b")));
  json as_json = json::parse(daemon.ctl_ok({"--json", "status"}));
  EXPECT_EQ(as_json["state"], "running");
  EXPECT_TRUE(as_json["events"].contains("mark_victim"));
}

}  // namespace
}  // namespace ktraced::live
