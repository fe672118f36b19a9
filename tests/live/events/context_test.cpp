// SPDX-License-Identifier: BSD-2-Clause
// In which context events happen: the wake-ups of timers are made in interrupts, of any thread.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/client/stream.h"
#include "harness/machine/kernel_module.h"
#include "harness/traces/trace_files.h"

namespace ktraced::live {
namespace {

constexpr int kSleeps = 50;

// Has this kernel one of the variables with the context in its table of symbols?
bool kernel_knows() {
  return std::ranges::any_of(std::array{"__preempt_count", "pcpu_hot"},
                             [](const char* name) { return !kallsyms_address(name, "").empty(); });
}

std::multiset<std::string> contexts_of(const std::vector<json>& events) {
  std::multiset<std::string> contexts;
  for (const json& event : events) contexts.insert(event.value("context", "unknown"));
  return contexts;
}

TEST(Context, IsUnknownOnlyWhereTheKernelDoesNotHaveItInItsSymbols) {
  Daemon daemon;
  const json status = daemon.call("status");
  EXPECT_EQ(
      std::ranges::none_of(status["unknown"],
                           [](const json& each) { return each["what"] == "contexts of events"; }),
      kernel_knows())
      << status["unknown"];
}

TEST(Context, OfAWakeUpByATimerIsAnInterruptAndOfACallATask) {
  Daemon daemon(json{{"events", {{"sched", true}, {"syscalls", {{"only", {"clock_nanosleep"}}}}}}});
  daemon.set_filter({{"pid", {::getpid()}}});
  Stream stream(daemon);
  for (int i = 0; i < kSleeps; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const Trace trace = stream.finish();
  const auto wakings = contexts_of(trace.where([](const json& event) {
    return event.value("event", "") == "sched_waking" && event["args"]["pid"] == ::getpid();
  }));
  const auto calls = contexts_of(trace.events("sys_enter", ::getpid()));
  ASSERT_FALSE(wakings.empty());
  ASSERT_FALSE(calls.empty());
  if (kernel_knows()) {
    EXPECT_GT(wakings.count("hardirq") + wakings.count("softirq"), 0U);
    EXPECT_EQ(calls.count("task"), calls.size());
  } else {
    EXPECT_EQ(wakings.count("unknown"), wakings.size());
    EXPECT_EQ(calls.count("unknown"), calls.size());
  }
}

// From the stream and from the flight recorder.
TEST(Context, OfAWakeUpByATimerIsNamedByReports) {
  Daemon daemon(json{{"events", {{"sched", true}, {"process", true}}},
                     {"flight", {{"enabled", true}, {"buffer_kb", 8192}}}});
  const std::string recording = daemon.directory() / "recording";
  daemon.ctl_ok({"record", "-o", recording, "--", "sh", "-c",
                 "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done"});
  const std::string snapshot =
      daemon.call("snapshot.take", {{"name", "slept"}})["path"].get<std::string>();
  for (const std::string& trace : {recording, snapshot}) {
    EXPECT_EQ(manifest_of(trace)["schema"]["contexts"], kernel_knows()) << trace;
    const json report = json::parse(
        daemon.ctl_ok({"--json", "report", "wakeups", "sleep", trace, "--top", "10000"}));
    const json& rows = report["wakers"]["rows"];
    EXPECT_FALSE(rows.empty());
    EXPECT_EQ(std::ranges::any_of(rows, [](const json& row) { return row.contains("context"); }),
              kernel_knows())
        << rows;
  }
}

}  // namespace
}  // namespace ktraced::live
