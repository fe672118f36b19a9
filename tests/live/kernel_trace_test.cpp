// Every field of every event against the kernel's own trace of the same run: the text form of an
// event is the kernel's, so that one comparison takes in them all.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "base/clock.h"
#include "harness/kernel_trace.h"
#include "harness/stream_output.h"
#include "harness/truth.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::Not;

// Both, of what a ground-truth program does.
struct BothTraces {
  std::vector<TraceLine> ours, kernels;
};

enum class Scope { of_the_program, of_all };

BothTraces both_traces(const char* group, Scope scope, const std::vector<std::string>& tracepoints,
                       const Command& words) {
  TempDir directory;
  WaitingTruth truth(words);
  std::vector<pid_t> pids;
  if (scope == Scope::of_the_program) pids.push_back(truth.pid());
  Daemon daemon(
      {{"events", {{group, true}}},
       {"filter", {{"pid", pids}}},
       {"stream", {{"buffer_kb", 65536}, {"output", {{"directory", directory.path()}}}}}});
  KernelTrace kernel(tracepoints, pids);
  truth.act();
  // A thread that has ended for whoever waits for it may still have to leave its CPU.
  const uint64_t end_us = boottime_ns() / 1000;
  BothTraces both;
  both.kernels = kernel.stop();
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const std::vector<fs::path> traces = traces_in(directory.path());
  EXPECT_EQ(lost_in(traces), 0U);
  Command show = {kClientProgram, "show", "--format", "ftrace"};
  show.insert(show.end(), traces.begin(), traces.end());
  both.ours = trace_lines(run(show).out);
  for (std::vector<TraceLine>* lines : {&both.ours, &both.kernels})
    std::erase_if(*lines, [&](const TraceLine& line) { return line.us >= end_us; });
  return both;
}

// Of everybody's lines, those that name the program.
BothTraces naming(const std::string& program, BothTraces both) {
  for (std::vector<TraceLine>* lines : {&both.ours, &both.kernels})
    std::erase_if(*lines, [&](const TraceLine& line) {
      return line.text.find("=" + program + " ") == std::string::npos;
    });
  return both;
}

std::string listed(const std::vector<TraceLine>& lines) {
  std::string text;
  for (const TraceLine& line : lines)
    text += fmt::format("  {} {} {}: {}\n", line.us, line.tid, line.event, line.text);
  return text;
}

// The same hits with the same texts. An interrupt between the two tracers of one hit may turn
// the order of its own hits and this one, so that order is not compared.
void expect_same(BothTraces both) {
  std::ranges::sort(both.ours);
  std::ranges::sort(both.kernels);
  std::vector<TraceLine> only_ours, only_kernels;
  std::ranges::set_difference(both.ours, both.kernels, std::back_inserter(only_ours));
  std::ranges::set_difference(both.kernels, both.ours, std::back_inserter(only_kernels));
  EXPECT_THAT(both.ours, Not(IsEmpty()));
  EXPECT_EQ(listed(only_ours), "") << "told only by us";
  EXPECT_EQ(listed(only_kernels), "") << "told only by the kernel";
}

TEST(KernelTrace, SaysTheSameOfAllocations) {
  BothTraces both = both_traces("kmem", Scope::of_the_program,
                                {"kmem:kmalloc", "kmem:kfree", "kmem:kmem_cache_alloc",
                                 "kmem:kmem_cache_free", "kmem:mm_page_alloc", "kmem:mm_page_free"},
                                {"kmem", "50"});
  // What the records do not hold.
  for (TraceLine& line : both.kernels)
    if (line.event != "kmalloc")
      line.text =
          std::regex_replace(line.text, std::regex(" accounted=(true|false)| pfn=0x[0-9a-f]+"), "");
  expect_same(both);
}

TEST(KernelTrace, SaysTheSameOfSystemCalls) {
  expect_same(both_traces("syscalls", Scope::of_the_program,
                          {"raw_syscalls:sys_enter", "raw_syscalls:sys_exit"}, {"syscalls"}));
}

TEST(KernelTrace, SaysTheSameOfSignals) {
  expect_same(both_traces("signal", Scope::of_the_program,
                          {"signal:signal_generate", "signal:signal_deliver"}, {"signal"}));
}

TEST(KernelTrace, SaysTheSameOfTheScheduler) {
  expect_same(naming("same-sched",
                     both_traces("sched", Scope::of_all,
                                 {"sched:sched_switch", "sched:sched_waking", "sched:sched_wakeup",
                                  "sched:sched_wakeup_new", "sched:sched_migrate_task"},
                                 {"--comm", "same-sched", "switch", "500", "1"})));
}

TEST(KernelTrace, SaysTheSameOfProcesses) {
  expect_same(
      naming("same-process", both_traces("process", Scope::of_all,
                                         {"sched:sched_process_fork", "sched:sched_process_exec",
                                          "sched:sched_process_exit", "task:task_rename"},
                                         {"--comm", "same-process", "fork", "4", "3"})));
}

}  // namespace
}  // namespace ktraced::live
