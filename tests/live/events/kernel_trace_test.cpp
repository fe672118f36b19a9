// SPDX-License-Identifier: BSD-2-Clause
// Compares every field of every event with the kernel's own trace of the same run. The text format
// of an event is the kernel's, so one comparison covers all fields.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "base/clock.h"
#include "harness/client/stream_output.h"
#include "harness/machine/kernel_trace.h"
#include "harness/traces/truth.h"
#include "kernel/programs/bpf_loader.h"
#include "schema/schema_from_btf.h"

namespace ktraced::live {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;
using testing::Not;

// Both traces of a ground-truth program. Each also covers more than the time from begin_us to
// end_us, during which both tracers were on and the program acted.
struct BothTraces {
  std::vector<TraceLine> ours, kernels;
  uint64_t begin_us = 0, end_us = 0;
  json status;  // of the daemon
};

enum class Traced { the_program, everything };

// The events of a group; each is named after its tracepoint.
std::vector<std::string> events_of(std::string_view group) {
  auto schema = schema_from_object(bpf_object_bytes());
  if (!schema) throw std::runtime_error(schema.error().message);
  std::vector<std::string> names;
  for (const Event& event : schema->events())
    if (event.group == group) names.push_back(event.name);
  return names;
}

BothTraces both_traces(const char* group, Traced traced, const Command& words) {
  TempDir directory;
  WaitingTruth truth(words);
  std::vector<pid_t> pids;
  if (traced == Traced::the_program) pids.push_back(truth.pid());
  Daemon daemon(
      {{"events", {{group, true}}},
       {"filter", {{"pid", pids}}},
       {"stream", {{"buffer_kb", 65536}, {"output", {{"directory", directory.path()}}}}}});
  KernelTrace kernel(events_of(group), pids,
                     group == std::string("kmem") ? Addresses::real : Addresses::hashed);
  BothTraces both;
  both.begin_us = boottime_ns() / 1000 + 1;
  truth.act();
  both.end_us = boottime_ns() / 1000;
  both.kernels = kernel.stop();
  both.status = daemon.call("status")["events"];
  EXPECT_EQ(daemon.stop().exit_code, 0);
  const std::vector<fs::path> traces = traces_in(directory.path());
  EXPECT_EQ(lost_in(traces), 0U);
  Command show = {kClientProgram, "show", "--format", "ftrace"};
  show.insert(show.end(), traces.begin(), traces.end());
  both.ours = trace_lines(run(show).out);
  keep_common_fields(both.ours, both.kernels);
  return both;
}

void leave_out(const std::string& pattern, TraceLine& line) {
  line.text = std::regex_replace(line.text, std::regex(pattern), "");
}

// The lines that name the program. Lines of the idle task are excluded, because the kernel's own
// trace often omits most of them. Of a switch, the name of the other program is left out: the names
// of threads outside of this pid namespace are unknown to us, and strange names have another form.
BothTraces naming(const std::string& program, BothTraces both) {
  const std::string other_name = "=(?!" + program + " ).*? ";
  for (std::vector<TraceLine>* lines : {&both.ours, &both.kernels}) {
    std::erase_if(*lines, [&](const TraceLine& line) {
      return line.tid == 0 || line.text.find("=" + program + " ") == std::string::npos;
    });
    for (TraceLine& line : *lines)
      leave_out("prev_comm" + other_name + "(?=prev_pid)|next_comm" + other_name + "(?=next_pid)",
                line);
  }
  return both;
}

std::string listed(const std::vector<TraceLine>& lines) {
  std::string text;
  for (const TraceLine& line : lines)
    text += fmt::format("  {} {} {}: {}\n", line.us, line.tid, line.event, line.text);
  return text;
}

// The lines of one tracer, within the common time, that are missing from all lines of the other.
std::vector<TraceLine> seen_only_by(std::vector<TraceLine> one, std::vector<TraceLine> other,
                                    const BothTraces& both) {
  std::erase_if(one, [&](const TraceLine& line) {
    return line.us < both.begin_us || line.us >= both.end_us;
  });
  EXPECT_THAT(one, Not(IsEmpty()));
  std::ranges::sort(one);
  std::ranges::sort(other);
  std::vector<TraceLine> only;
  std::ranges::set_difference(one, other, std::back_inserter(only));
  return only;
}

// The same hits with the same texts. Order is not compared: an interrupt between the two tracers of
// one hit may change it. A hit in an interrupt is missed, and counted, while our program for that
// event runs. The kernel's own trace also omits a few hits without counting them: with Linux 6.18,
// tasks end whose start on that CPU it does not show.
void expect_same(const BothTraces& both) {
  const std::vector<TraceLine> not_the_kernels = seen_only_by(both.ours, both.kernels, both);
  EXPECT_LE(not_the_kernels.size(), both.ours.size() / 10) << "recorded only by us:\n"
                                                           << listed(not_the_kernels);
  const std::vector<TraceLine> not_ours = seen_only_by(both.kernels, both.ours, both);
  for (const TraceLine& line : not_ours)
    EXPECT_LE(std::ranges::count(not_ours, line.event, &TraceLine::event),
              both.status.at(line.event)["missed"])
        << "recorded only by the kernel, beyond the hits missed:\n"
        << listed(not_ours);
}

TEST(TraceLines, AreJoinedWhereANewlineInANameHasBrokenThem) {
  const auto lines = trace_lines(
      "          one-7     [001] d..2.     1.000001: sched_switch: prev_comm=one prev_pid=7 "
      "prev_state=R ==> next_comm=tab\tline\n next_pid=8 next_prio=120\n"
      "    tab\tline\n-8     [001] d..2.     1.000002: sched_switch: prev_comm=tab\tline\n "
      "prev_pid=8 prev_state=S ==> next_comm=one next_pid=7 next_prio=120\n");
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].text,
            "prev_comm=one prev_pid=7 prev_state=R ==> next_comm=tab\tline next_pid=8 "
            "next_prio=120");
  EXPECT_EQ(lines[1].tid, 8);
  EXPECT_EQ(lines[1].text,
            "prev_comm=tab\tline prev_pid=8 prev_state=S ==> next_comm=one next_pid=7 "
            "next_prio=120");
}

TEST(KernelTrace, AgreesOnAllocations) {
  BothTraces both = both_traces("kmem", Traced::the_program, {"kmem", "50"});
  // Values that the records do not contain.
  for (TraceLine& line : both.kernels)
    if (line.event != "kmalloc") leave_out(" accounted=(true|false)| pfn=0x[0-9a-f]+", line);
  if (std::ranges::any_of(both.kernels, [](const TraceLine& line) {
        return line.text.find("gfp_flags= ") != std::string::npos;
      }))  // see Addresses
    for (std::vector<TraceLine>* lines : {&both.ours, &both.kernels})
      for (TraceLine& line : *lines) leave_out("gfp_flags=[^ ]*| name=.*$", line);
  expect_same(both);
}

TEST(KernelTrace, AgreesOnSystemCalls) {
  expect_same(both_traces("syscalls", Traced::the_program, {"syscalls"}));
}

TEST(KernelTrace, AgreesOnSignals) {
  expect_same(both_traces("signal", Traced::the_program, {"signal"}));
}

TEST(KernelTrace, AgreesOnTheScheduler) {
  expect_same(naming(own_name(), both_traces("sched", Traced::everything,
                                             {"--comm", own_name(), "switch", "500", "1"})));
}

TEST(KernelTrace, AgreesOnProcesses) {
  expect_same(naming(own_name(), both_traces("process", Traced::everything,
                                             {"--comm", own_name(), "fork", "4", "3"})));
}

}  // namespace
}  // namespace ktraced::live
