// SPDX-License-Identifier: BSD-2-Clause
// Text formats: order, ftrace lines, symbols, output streams.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

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

// The standard output of `ktracectl stream` while some programs work.
std::string streamed(json config, const Command& options) {
  config["filter"] = {{"follow", {::getpid()}}, {"exclude", {{"comm", {"ktracectl"}}}}};
  Daemon daemon(config);
  Process client(daemon.ctl_command(options));
  EXPECT_TRUE(reaches([&] { return daemon.call("status")["subscribers"].size(); }, 1));
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
  const long switches = scaled(2000);
  WaitingTruth one({"--cpu", "0", "switch", std::to_string(switches), "0"}),
      two({"--cpu", "1", "switch", std::to_string(switches), "1"});
  Daemon daemon(for_processes({one.pid(), two.pid()}, kEverything));
  Stream stream(daemon);
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
