// SPDX-License-Identifier: BSD-2-Clause
// Threads whose times a report knows.
#include <gtest/gtest.h>

#include <set>

#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

// Children that switch only to tasks that may or may not match the filter: the trace alone does not
// show it.
TEST(SchedReport, ReportsTheCpuTimeOfAllThreadsOfARecordedCommand) {
  Daemon daemon(json{{"events", {{"sched", true}, {"process", true}}}});
  const std::string path = daemon.directory() / "recording";
  const json expected =
      truth_of(daemon.ctl({"record", "-o", path, "--", kTruthProgram, "tree", "3", "3"}));
  std::set<uint32_t> threads;
  for (const json& node : expected["nodes"])
    for (const char* key : {"pid", "thread"}) threads.insert(node[key].get<uint32_t>());
  const json report =
      json::parse(daemon.ctl_ok({"--json", "report", "sched", path, "--top", "10000"}));
  std::set<uint32_t> unknown = threads;
  for (const json& row : report["threads"]["rows"])
    if (row.contains("tid") && row["on_cpu_ns"].is_number()) unknown.erase(row["tid"]);
  EXPECT_TRUE(unknown.empty()) << unknown.size() << " of " << threads.size();
}

}  // namespace
}  // namespace ktraced::live
