// SPDX-License-Identifier: BSD-2-Clause
// User stacks, and the files of their frames, compared with what a program says of itself.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/client/daemon.h"
#include "harness/machine/temp_dir.h"
#include "harness/traces/stack_truth.h"
#include "harness/traces/trace_files.h"
#include "trace/directory/trace_reader.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::SizeIs;

fs::path snapshot_of(Daemon& daemon) {
  return daemon.call("snapshot.take")["path"].get<std::string>();
}

// The files of the frames, where the kernel shows them.
void expect_files(Daemon& daemon, const StackTrace& trace, const json& report,
                  bool build_ids = true) {
  if (knows_files_of_stacks(daemon)) {
    EXPECT_TRUE(trace.has_files_of(report, build_ids));
  }
}

// A copy of the program.
fs::path copy_to(const fs::path& path) {
  fs::copy_file(kStackTruthProgram, path);
  return path;
}

// The name that the program gives to code it has made at run time.
class PerfMap {
 public:
  explicit PerfMap(pid_t pid) : path_(fmt::format("/tmp/perf-{}.map", pid)) {}
  PerfMap(const PerfMap&) = delete;
  PerfMap& operator=(const PerfMap&) = delete;
  ~PerfMap() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }

 private:
  fs::path path_;
};

TEST(UserStacks, AreTheFunctionsOfTheProgramInTheirOrder) {
  StackTruth truth({"call", "depth=7", "call", "in=thread", "call", "in=child", "call", "in=main",
                    "open=" + kStackLibrary, "through=library", "call", "close", "through=jit",
                    "call", "wait"});
  const PerfMap map(truth.pid());
  Daemon daemon(stack_truth_config(truth.pid()));
  truth.go();
  const fs::path taken = snapshot_of(daemon);
  const std::vector<json> reports = truth.finish();
  ASSERT_THAT(reports, SizeIs(1));
  ASSERT_THAT(reports[0]["calls"], SizeIs(6));
  const StackTrace trace(taken);
  EXPECT_TRUE(trace.has_stacks_of(reports[0]));
  expect_files(daemon, trace, reports[0]);
  EXPECT_THAT(manifest_of(taken)["incomplete_because"], IsEmpty());
}

TEST(UserStacks, SayHowTheyEnd) {
  StackTruth truth({"call", "above=broken", "call", "above=unreadable", "call", "depth=26", "call",
                    "depth=27", "call", "depth=500", "call"});
  constexpr size_t kDepth = 32;
  Daemon daemon(stack_truth_config(truth.pid(), {{"stacks", {{"depth", kDepth}}}}));
  const json report = truth.finish().at(0);
  const StackTrace trace(snapshot_of(daemon));
  EXPECT_TRUE(trace.has_stacks_of(report, kDepth));
  std::set<StackEnd> ends;
  for (const StackTrace::Event& event : trace.events())
    if (const Stack* stack = trace.stacks().find(event.number)) ends.insert(stack->end);
  EXPECT_THAT(ends, SizeIs(4));
}

// The function that has set the frame pointer to 0 was called by another one.
TEST(UserStacks, AreNotCompleteJustBecauseTheFramePointerIsZero) {
  StackTruth truth({"depth=3", "call"});
  Daemon daemon(stack_truth_config(truth.pid()));
  const json report = truth.finish().at(0);
  const fs::path taken = snapshot_of(daemon);
  EXPECT_TRUE(StackTrace(taken).has_stacks_of(report)) << "their records say 'start'";
  EXPECT_EQ(daemon.ctl_ok(
                {"query", taken, "--csv", "SELECT DISTINCT end FROM frames WHERE kind = 'user'"}),
            "end\nbroken\n");
}

// The C library has no frame pointers.
TEST(UserStacks, OfAFunctionWithoutAFrameAreNotComplete) {
  StackTruth truth({"do=library", "call"});
  Daemon daemon(stack_truth_config(truth.pid()));
  truth.finish();
  const fs::path taken = snapshot_of(daemon);
  const StackTrace trace(taken);
  size_t found = 0;
  for (const StackTrace::Event& event : trace.events()) {
    const Stack* const stack = trace.stacks().find(event.number);
    if (event.id != EVENT_sys_enter || stack == nullptr) continue;
    EXPECT_THAT(stack->frames, SizeIs(1)) << "the functions above cannot be found";
    ++found;
  }
  EXPECT_EQ(found, 1U);
  EXPECT_EQ(
      daemon.ctl_ok({"query", taken, "--csv", "SELECT depth, end FROM frames WHERE kind = 'user'"}),
      "depth,end\n0,broken\n");
}

// A thread that sleeps is switched away from there; it can be preempted anywhere.
TEST(UserStacks, OfSwitchesAndSignalsShowTheFunctionThatCausesThem) {
  StackTruth truth({"repeat=10", "do=sleep", "call", "depth=3", "do=signal", "call"});
  Daemon daemon(stack_truth_config(
      truth.pid(), {{"events", {{"sched", {"sched_switch"}}, {"signal", {"signal_generate"}}}},
                    {"stacks", {{"events", {"sys_enter", "sched_switch", "signal_generate"}}}}}));
  const json report = truth.finish().at(0);
  const StackTrace trace(snapshot_of(daemon));
  const auto count = [&](uint16_t id, const json& call) {
    return std::ranges::count_if(trace.events(), [&](const StackTrace::Event& event) {
      return event.id == id && event.tid == call["tid"].get<uint32_t>() &&
             trace.is_stack_of(event, report, call);
    });
  };
  EXPECT_TRUE(trace.has_stacks_of(report));
  EXPECT_GE(count(EVENT_sched_switch, report["calls"][0]), 10);
  EXPECT_EQ(count(EVENT_signal_generate, report["calls"][1]), 10);
}

TEST(UserStacks, OfSomeHitsAreThoseOfTheHits) {
  StackTruth truth({"repeat=100", "call"});
  Daemon daemon(stack_truth_config(truth.pid(), {{"stacks", {{"every", {{"sys_enter", 4}}}}}}));
  const json report = truth.finish().at(0);
  const StackTrace trace(snapshot_of(daemon));
  size_t with = 0;
  for (const StackTrace::Event& event : trace.events()) {
    if (event.id != EVENT_sys_enter || event.number == 0) continue;
    ++with;
    EXPECT_TRUE(trace.is_stack_of(event, report, report["calls"][0]));
  }
  EXPECT_GE(with, 25U);
  EXPECT_LT(with, 100U);
}

// Each program has its own file, at the same addresses.
TEST(UserStacks, AreInTheFileOfTheProgramThatTheProcessExecutedThen) {
  const TempDir directory;
  const fs::path first = copy_to(directory.path() / "first"),
                 second = copy_to(directory.path() / "second");
  StackTruth truth({"call", "same-addresses", "exec=" + first.string(), "call",
                    "exec=" + second.string(), "call", "exec=" + first.string(), "depth=2",
                    "call"});
  Daemon daemon(stack_truth_config(truth.pid()));
  const std::vector<json> reports = truth.finish();
  ASSERT_THAT(reports, SizeIs(4));
  EXPECT_EQ(reports[1]["functions"], reports[2]["functions"]);
  EXPECT_EQ(reports[1]["program"], first.string());
  const StackTrace trace(snapshot_of(daemon));
  for (const json& report : reports) {
    EXPECT_TRUE(trace.has_stacks_of(report));
    expect_files(daemon, trace, report);
  }
}

// A process and its children have one, until they execute another program.
TEST(UserStacks, HaveTheLayoutOfTheirProgram) {
  StackTruth truth(
      {"repeat=10", "call", "in=child", "call", "exec=" + kStackTruthProgram, "repeat=10", "call"});
  Daemon daemon(stack_truth_config(truth.pid()));
  ASSERT_THAT(truth.finish(), SizeIs(2));
  std::set<uint64_t> of_stacks, of_mappings;
  for_each_record(snapshot_of(daemon), [&](const RecordView& record) {
    if (const auto mapping = mapping_of(record)) of_mappings.insert(mapping->layout);
    if (record.id() != RECORD_STACK) return;
    rec_stack stack{};
    std::memcpy(&stack, record.bytes().data(), sizeof(stack));
    of_stacks.insert(stack.layout);
  });
  EXPECT_THAT(of_stacks, SizeIs(2));
  if (knows_files_of_stacks(daemon)) {
    EXPECT_EQ(of_mappings, of_stacks);
  }
}

// The registers are those of the program that called execve, until the kernel sets them for the new
// one, long after it has replaced the memory.
TEST(UserStacks, AreInTheMemoryOfTheirProcessDuringExecve) {
  Command steps;
  for (int i = 0; i < 20; ++i) steps.push_back("exec=" + kStackTruthProgram);
  StackTruth truth(steps);
  const pid_t pid = truth.pid();
  Daemon daemon(stack_truth_config(
      pid, {{"events", {{"kmem", {"kmalloc", "kmem_cache_alloc", "mm_page_alloc"}}}},
            {"stacks", {{"events", {"kmalloc", "kmem_cache_alloc", "mm_page_alloc"}}}},
            {"flight", {{"buffer_kb", 16384}}}}));
  if (!knows_files_of_stacks(daemon))
    GTEST_SKIP() << "this kernel does not show the files of user stacks";
  ASSERT_THAT(truth.finish(), SizeIs(21));
  const StackTrace trace(snapshot_of(daemon));
  size_t found = 0;
  for (const StackTrace::Event& event : trace.events()) {
    if (event.number == 0 || event.tid != static_cast<uint32_t>(pid)) continue;
    const Stack* const stack = trace.stacks().find(event.number);
    ASSERT_NE(stack, nullptr);
    EXPECT_TRUE(trace.mappings().find({.tgid = event.tid}, event.ts, stack->frames[0]))
        << fmt::format("{:#x}", stack->frames[0]);
    ++found;
  }
  EXPECT_GT(found, 100U);
}

bool may_open_mapped_files() {
  for (const auto& entry : fs::directory_iterator("/proc/self/map_files")) {
    struct stat status{};
    return ::stat(entry.path().c_str(), &status) == 0;
  }
  return false;
}

// The build id of a deleted file is read from a process that still has it.
TEST(UserStacks, OfADeletedProgramAreInItsFile) {
  const TempDir directory;
  const fs::path copy = copy_to(directory.path() / "copy");
  StackTruth truth({"delete", "call", "wait", "in=thread", "call"}, copy);
  Daemon daemon(stack_truth_config(truth.pid()));
  truth.go();
  const StackTrace alive(snapshot_of(daemon));
  const json report = truth.finish().at(0);
  json before = report, after = report;
  before["calls"].erase(1);
  after["calls"].erase(0);
  EXPECT_TRUE(alive.has_stacks_of(before));
  expect_files(daemon, alive, before, may_open_mapped_files());
  const StackTrace dead(snapshot_of(daemon));
  EXPECT_TRUE(dead.has_stacks_of(after));
  expect_files(daemon, dead, after, false);
}

// Another program has the path meanwhile, as after an update.
TEST(UserStacks, OfAReplacedProgramDoNotGetTheBuildIdOfTheOther) {
  const TempDir directory;
  const fs::path copy = copy_to(directory.path() / "copy");
  StackTruth truth({"call", "delete"}, copy);
  Daemon daemon(stack_truth_config(truth.pid()));
  const json deleted = truth.finish().at(0);
  fs::copy_file(kTruthProgram, copy);
  json report = deleted;
  report["program"] = copy.string();  // as at the time of the call
  report["build_id"] = "";
  const StackTrace trace(snapshot_of(daemon));
  EXPECT_TRUE(trace.has_stacks_of(report));
  expect_files(daemon, trace, report);
}

TEST(UserStacks, OfAProgramInMemoryAreInAFileWithoutAPath) {
  StackTruth truth({"memfd", "call", "wait"});
  Daemon daemon(stack_truth_config(truth.pid()));
  truth.go();
  const StackTrace trace(snapshot_of(daemon));
  const json report = truth.finish().at(1);
  EXPECT_TRUE(report["program"].get<std::string>().starts_with("/memfd:")) << report;
  EXPECT_TRUE(trace.has_stacks_of(report));
  expect_files(daemon, trace, report, may_open_mapped_files());
}

// The process says what its code is called, while it lives and afterwards.
TEST(UserStacks, OfCodeThatTheProcessHasMadeHaveItsNames) {
  StackTruth truth({"through=jit", "call", "wait", "call"});
  const PerfMap map(truth.pid());
  Daemon daemon(stack_truth_config(truth.pid()));
  truth.go();
  const fs::path alive = snapshot_of(daemon);
  const json report = truth.finish().at(0);
  const json& jitted = report["functions"]["jitted"];
  const uint64_t begin = jitted["begin"], size = jitted["end"].get<uint64_t>() - begin;
  const bool files = knows_files_of_stacks(daemon);
  for (const fs::path& trace : {alive, snapshot_of(daemon)}) {
    const auto reader = TraceReader::open(trace);
    ASSERT_TRUE(reader);
    const auto& functions = reader->jit_functions();
    ASSERT_THAT(functions, SizeIs(files ? 1 : 0)) << trace;
    if (!files) continue;
    EXPECT_EQ(functions[0].process.tgid, report["pid"].get<uint32_t>());
    EXPECT_EQ(functions[0].address, begin);
    EXPECT_EQ(functions[0].size, size);
    EXPECT_EQ(functions[0].name, "jitted");
  }
}

// Other threads map and unmap executable memory.
TEST(UserStacks, HaveTheirFilesWhileTheMappingsChange) {
  StackTruth truth({"map=2", "repeat=2000", "in=thread", "call", "in=main", "depth=9", "call"});
  Daemon daemon(stack_truth_config(truth.pid(), {{"flight", {{"buffer_kb", 4096}}}}));
  const json report = truth.finish().at(0);
  EXPECT_GT(report["mapped"].get<uint64_t>(), 0U);
  const StackTrace trace(snapshot_of(daemon));
  EXPECT_TRUE(trace.has_stacks_of(report));
  expect_files(daemon, trace, report);
}

// The newest three quarters of an overwritten ring have all stacks, mappings and files. What the
// first quarter lacks is counted.
TEST(UserStacks, OfTheNewestThreeQuartersOfARingHaveTheirFiles) {
  constexpr size_t kRing = 64 * 1024;
  Command steps = {"repeat=100"};
  for (int round = 0; round < 3; ++round)
    for (int depth = 0; depth < 40; ++depth) {
      steps.push_back("depth=" + std::to_string(depth));
      steps.emplace_back("call");
    }
  StackTruth truth(steps);
  Daemon daemon(stack_truth_config(truth.pid(), {{"flight", {{"buffer_kb", kRing / 1024}}}}));
  const json report = truth.finish().at(0);
  ASSERT_GT(daemon.event_status("sys_enter")["overwritten"].get<uint64_t>(), 0U);
  const fs::path taken = snapshot_of(daemon);
  EXPECT_THAT(manifest_of(taken)["incomplete_because"], IsEmpty());
  const bool files = knows_files_of_stacks(daemon);

  std::map<uint32_t, std::vector<std::vector<std::byte>>> cpus;
  for_each_packet(taken, [&](const PacketView& packet) {
    packet.for_each_record([&](const RecordView& record) {
      cpus[packet.header().cpu_id].emplace_back(record.bytes().begin(), record.bytes().end());
    });
  });
  size_t checked = 0;
  StackCounts counts;
  uint64_t with_stacks = 0, lacking = 0;
  for (const auto& [cpu, records] : cpus) {
    size_t left = 0;
    for (const auto& bytes : records) left += bytes.size();
    StackTable stacks;
    MappingTable mappings;
    for (const auto& bytes : records) {
      const RecordView record(bytes.data());
      stacks.add(record);
      mappings.add(record);
      left -= bytes.size();
      if (record.stacks().user == 0) continue;
      const Stack* const stack = stacks.find(record.stacks().user);
      counts.add(stack, stack != nullptr ? stack->end : StackEnd::unreadable);
      ++with_stacks;
      if (stack == nullptr) ++lacking;
      if (left > kRing / 4 * 3) continue;
      ++checked;
      ASSERT_NE(stack, nullptr) << "CPU " << cpu << ", " << left << " bytes left";
      if (!files) continue;
      for (size_t i = 0; i < stack->frames.size(); ++i) {
        const auto place =
            mappings.find({.tgid = record.tid()}, record.ts(), stack->frames[i] - (i != 0 ? 1 : 0));
        ASSERT_TRUE(place) << "CPU " << cpu << ", " << left << " bytes left";
        ASSERT_NE(place->file, nullptr) << "CPU " << cpu << ", " << left << " bytes left";
      }
    }
  }
  EXPECT_GT(checked, 100U);
  EXPECT_EQ(counts.total(), with_stacks);
  EXPECT_EQ(counts.lacking, lacking);
  EXPECT_EQ(counts.complete(), with_stacks - lacking);
}

// The daemon is killed between the events and the snapshot, and while it is away there are others.
TEST(UserStacks, OutliveAKilledDaemonWithTheirFiles) {
  StackTruth truth({"call", "wait", "in=child", "depth=4", "call", "wait", "depth=5", "call"});
  Daemon daemon(stack_truth_config(truth.pid()));
  truth.go();
  daemon.end(SIGKILL);
  truth.go();
  daemon.start();
  const json report = truth.finish().at(0);
  const fs::path taken = snapshot_of(daemon);
  const StackTrace trace(taken);
  EXPECT_TRUE(trace.has_stacks_of(report));
  expect_files(daemon, trace, report);
  EXPECT_THAT(manifest_of(taken)["incomplete_because"], IsEmpty());
}

}  // namespace
}  // namespace ktraced::live
