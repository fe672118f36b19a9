// SPDX-License-Identifier: BSD-2-Clause
// The timeline of the HTML report, compared with its events.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "harness/client/stream.h"
#include "harness/machine/temp_dir.h"
#include "harness/traces/flight.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

// The data in a page.
json data_of(const std::string& page) {
  std::ifstream file(page);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::string begin = R"(<script type="application/json" id="data">)";
  const size_t from = text.find(begin) + begin.size();
  return json::parse(text.substr(from, text.find("</script>", from) - from));
}

struct Ran {
  uint64_t times = 0, ns = 0;
  bool operator==(const Ran&) const = default;
};
void PrintTo(const Ran& ran, std::ostream* out) {
  *out << ran.times << " times, " << ran.ns << " ns";
}

// Counts how often and how long `threads` ran on each CPU, in the simplest way.
std::map<uint64_t, Ran> ran_of(std::istream& events, const std::set<int64_t>& threads,
                               uint64_t end_ns) {
  std::map<uint64_t, std::pair<int64_t, uint64_t>> running;  // CPU → thread, since
  std::map<uint64_t, Ran> ran;
  auto stop = [&](uint64_t cpu, int64_t tid, uint64_t ts) {
    const auto found = running.find(cpu);
    if (found == running.end() || found->second.first != tid || !threads.contains(tid)) return;
    ++ran[cpu].times;
    ran[cpu].ns += ts - found->second.second;
  };
  for (std::string line; std::getline(events, line);) {
    const json event = json::parse(line);
    if (event.value("event", "") != "sched_switch" || event.contains("lost")) continue;
    const uint64_t cpu = event["cpu"], ts = event["ts"];
    stop(cpu, event["args"]["prev_pid"], ts);
    running[cpu] = {event["args"]["next_pid"].get<int64_t>(), ts};
  }
  for (const auto& [cpu, now] : running) stop(cpu, now.first, end_ns);
  return ran;
}

TEST(HtmlReport, TimelineAgreesWithTheEvents) {
  WaitingTruth truth({"switch", "200"});
  Daemon daemon({{"events", {{"sched", true}, {"syscalls", true}}},
                 {"flight", {{"enabled", true}, {"buffer_kb", 1024}}},
                 {"filter", {{"pid", {truth.pid()}}}}});
  truth.act();
  const json taken = json::parse(daemon.ctl_ok({"--json", "snapshot", "take"}));
  const TempDir directory;
  const std::string page = directory.path() / "report.html";
  daemon.ctl_ok({"report", "html", taken["path"], "-o", page});
  const json data = data_of(page), &timeline = data["timeline"];

  // With a filter, run times are known only for accepted threads.
  std::set<int64_t> threads;
  std::map<uint64_t, Ran> drawn;
  for (const json& lane : timeline["run"]["lanes"])
    for (size_t i = 0; i < lane["ns"].size(); ++i) {
      const json& task = timeline["tasks"][lane["what"][i].get<size_t>()];
      EXPECT_EQ(task["pid"], truth.pid()) << task;
      threads.insert(task["tid"].get<int64_t>());
      ++drawn[lane["cpu"]].times;
      drawn[lane["cpu"]].ns += lane["ns"][i].get<uint64_t>();
    }
  std::istringstream events(daemon.ctl_ok({"show", taken["path"], "--format", "json"}));
  EXPECT_EQ(drawn, ran_of(events, threads, data["window"]["end_ns"]));
  EXPECT_FALSE(threads.empty());
  for (const json& cpu : data["sched"]["cpus"])
    EXPECT_EQ(cpu["busy_ns"], drawn[cpu["cpu"]].ns) << "as the report on scheduling has it";
  EXPECT_EQ(timeline["run"]["grain_ns"], 0);

  // The lanes of threads have the same runs.
  uint64_t on_cpus = 0, in_lanes = 0;
  for (const auto& [cpu, ran] : drawn) on_cpus += ran.ns;
  for (const json& lane : timeline["threads"]["lanes"]) {
    const json& states = lane["states"];
    uint64_t ran_ns = 0;
    for (size_t i = 0; i < states["ns"].size(); ++i)
      if (states["what"][i] == 0) ran_ns += states["ns"][i].get<uint64_t>();
    EXPECT_EQ(ran_ns, lane["ran_ns"]) << lane["tid"];
    in_lanes += ran_ns;
  }
  EXPECT_EQ(in_lanes, on_cpus);
  EXPECT_EQ(timeline["threads"]["states"]["grain_ns"], 0);

  const auto calls = timeline["threads"]["calls"]["of"].get<uint64_t>();
  uint64_t timed = 0;
  for (const json& row : data["syscalls"]["calls"]["rows"])
    timed += row["time"]["count"].get<uint64_t>();
  EXPECT_GE(calls, timed);
  EXPECT_LE(calls, timed + data["syscalls"]["running"].get<uint64_t>());
  EXPECT_GT(timed, 0U);
}

}  // namespace
}  // namespace ktraced::live
