// SPDX-License-Identifier: BSD-2-Clause
// Exports, compared with the ground truth and with the events they are made from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "harness/client/daemon.h"
#include "harness/client/show.h"
#include "harness/traces/truth.h"
#include "perfetto/read.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using test::ReadMark;
using test::ReadTrace;
using testing::ElementsAre;

// A recording of the ground truth, exported.
class Exported {
 public:
  Exported(const json& events, const Command& truth) : daemon_(json{{"events", events}}) {
    Command command{"record", "-o", recording_, "--", kTruthProgram};
    command.insert(command.end(), truth.begin(), truth.end());
    expected = truth_of(daemon_.ctl(command));
    daemon_.ctl_ok({"export", recording_, "--to", "perfetto", "-o", file_});
    trace = test::read_perfetto_file(file_);
    lines = show({recording_}).lines;
  }
  // Counts each event in lines of JSON.
  [[nodiscard]] std::map<std::string, uint64_t> counts() const {
    std::map<std::string, uint64_t> counts;
    for (const json& line : lines)
      if (!line.contains("lost")) ++counts[line["event"]];
    return counts;
  }

  json expected;
  ReadTrace trace;
  std::vector<json> lines;

 private:
  Daemon daemon_;
  fs::path recording_ = daemon_.directory() / "recording", file_ = daemon_.directory() / "trace";
};

TEST(Export, HasEveryEventOnceAndEndsEveryCall) {
  const Exported exported(
      {{"sched", true}, {"process", true}, {"signal", true}, {"syscalls", true}, {"kmem", true}},
      {"fork", "5"});
  EXPECT_THAT(exported.trace.faults, ElementsAre());
  auto counts = exported.counts();
  counts["sched_waking"] += counts["sched_wakeup_new"];  // one beside each, see docs/perfetto.md
  EXPECT_EQ(exported.trace.counts(), counts);
  EXPECT_GT(exported.trace.slices.size(), 0U);
  for (const ReadMark& slice : exported.trace.slices)
    EXPECT_EQ(slice.depth, 0U) << slice.name << " on " << slice.track;

  std::map<std::string, std::string> statuses;  // of processes that exited
  for (const ReadMark& exit : exported.trace.instants_named("sched_process_exit"))
    if (exit.args.contains("exit_status")) statuses[exit.track] = exit.args.at("exit_status");
  for (int i = 0; i < 5; ++i) {
    const std::string pid = exported.expected["children"][i]["pid"].dump();
    const std::string track = pid + "/" + pid;
    EXPECT_EQ(statuses[track], std::to_string(i));
    const auto calls = exported.trace.slices_on(track);
    ASSERT_FALSE(calls.empty()) << track;
    EXPECT_EQ(calls.back().name, "exit_group");
    EXPECT_EQ(calls.back().args.at("end"), "the thread ended");
  }
}

}  // namespace
}  // namespace ktraced::live
