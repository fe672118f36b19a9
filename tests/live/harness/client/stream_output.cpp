// SPDX-License-Identifier: BSD-2-Clause
#include "harness/client/stream_output.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "harness/client/stream.h"
#include "harness/traces/missed.h"
#include "harness/traces/numbers.h"
#include "harness/traces/trace_files.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;

constexpr int kRingKb = 65536;

}  // namespace

json output_config(const fs::path& directory, json output) {
  output["directory"] = directory;
  return {{"events", numbered_calls()},
          {"stream", {{"buffer_kb", kRingKb}, {"output", std::move(output)}}}};
}

json no_output_config() {
  return {{"events", numbered_calls()}, {"stream", {{"buffer_kb", kRingKb}}}};
}

std::vector<fs::path> traces_in(const fs::path& directory, bool unfinished) {
  std::vector<fs::path> traces;
  std::error_code none_yet;
  for (const auto& entry : fs::directory_iterator(directory, none_yet))
    if (!entry.path().filename().string().starts_with('.') &&  // being removed
        (entry.path().extension() == ".partial") == unfinished)
      traces.push_back(entry.path());
  std::ranges::sort(traces);
  return traces;
}

ShownCalls show_calls(const std::vector<fs::path>& traces, pid_t pid, const Command& options) {
  Command command = {kClientProgram, "show", "--format", "json"};
  command.insert(command.end(), options.begin(), options.end());
  for (const fs::path& trace : traces) command.push_back(trace);
  const Finished finished = run(command);
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  ShownCalls shown;
  std::istringstream text(finished.out);
  for (std::string line; std::getline(text, line);) {
    const json event = json::parse(line);
    if (event.contains("lost"))
      shown.lost += event["lost"].get<uint64_t>();
    else if (event["event"] == "sys_enter" && event["pid"] == pid)
      shown.numbers.push_back(numbers_of(event, "args")[1]);
  }
  return shown;
}

json event_counts(const std::vector<fs::path>& traces, const Command& options) {
  json sum = {{"events", 0}, {"lost", 0}};
  for (const fs::path& trace : traces) {
    Command command = {kClientProgram, "show", "--count-only", trace};
    command.insert(command.end(), options.begin(), options.end());
    const json counts = json::parse(run(command).out, nullptr, false);
    for (const char* key : {"events", "lost"})
      if (counts.contains(key)) sum[key] = sum[key].get<uint64_t>() + counts[key].get<uint64_t>();
  }
  return sum;
}

void wait_until_on_disk(Daemon& daemon, const fs::path& directory) {
  uint64_t recorded = 0;
  const json session = daemon.call("session.show", {{"session", "output"}});
  for (const json& event : session["counts"]) recorded += event["recorded"].get<uint64_t>();
  EXPECT_TRUE(reaches(
      [&] {
        std::vector<fs::path> traces = traces_in(directory);
        std::ranges::copy(traces_in(directory, true), std::back_inserter(traces));
        return event_counts(traces, {"--partial"})["events"].get<uint64_t>();
      },
      recorded))
      << "events on disk";
}

uint64_t lost_in(const std::vector<fs::path>& traces) {
  uint64_t lost = 0;
  for (const fs::path& trace : traces) lost += manifest_of(trace)["lost"].get<uint64_t>();
  return lost;
}

uint64_t missed_in(const std::vector<fs::path>& traces, const std::string& event) {
  uint64_t missed = 0;
  for (const fs::path& trace : traces)
    missed += manifest_of(trace)["missed"].value(event, uint64_t{0});
  return missed;
}

void expect_gapless(const std::vector<fs::path>& traces) {
  uint64_t end = 0;
  for (const fs::path& trace : traces) {
    const json manifest = manifest_of(trace);
    EXPECT_TRUE(complete_but_for_missed(manifest)) << trace << manifest["incomplete_because"];
    EXPECT_EQ(manifest["kind"], "recording");
    if (end != 0) {
      EXPECT_EQ(manifest["begin_ns"], end + 1) << trace;
    }
    end = manifest["end_ns"];
  }
}

json output_status(Daemon& daemon) { return daemon.call("status")["stream"]["output"]; }

}  // namespace ktraced::live
