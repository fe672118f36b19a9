// SPDX-License-Identifier: BSD-2-Clause
// In which context events happen: the wake-ups of timers are made in interrupts, of any thread, or
// under PREEMPT_RT in tasks of the kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "harness/client/stream.h"
#include "harness/machine/kernel_module.h"
#include "harness/traces/trace_files.h"

namespace ktraced::live {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kSleeps = 50;

// Has this kernel one of the variables with the context in its table of symbols?
bool kernel_knows() {
  return std::ranges::any_of(std::array{"__preempt_count", "pcpu_hot"},
                             [](const char* name) { return !kallsyms_address(name, "").empty(); });
}

// A PREEMPT_RT kernel runs soft interrupts in tasks, also those in which the timers of ordinary
// tasks expire. Its preemption count does not have them.
bool soft_interrupts_are_tasks() {
  utsname names{};
  return ::uname(&names) == 0 && std::string_view(names.version).contains("PREEMPT_RT");
}

std::string context_of_soft_interrupts() {
  return soft_interrupts_are_tasks() ? "task" : "softirq";
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
    EXPECT_GT(wakings.count("hardirq") + wakings.count(context_of_soft_interrupts()), 0U);
    EXPECT_EQ(calls.count("task"), calls.size());
  } else {
    EXPECT_EQ(wakings.count("unknown"), wakings.size());
    EXPECT_EQ(calls.count("unknown"), calls.size());
  }
}

// The handlers of devices are not waited for: a machine may have no device that is in use.
TEST(Context, OfInterruptsIsHardOrSoft) {
  const std::string soft = "irq:softirq_entry", timer = "timer:hrtimer_expire_entry",
                    device = "irq:irq_handler_entry";
  Daemon daemon;
  Stream stream(daemon);
  daemon.enable({soft, timer, device});
  const auto happened = [&](const std::string& event) {
    return daemon.event_status(event)["recorded"].get<uint64_t>() != 0;
  };
  EXPECT_TRUE(eventually([&] { return happened(soft) && happened(timer); }));
  const Trace trace = stream.finish();
  const auto of_soft = contexts_of(trace.events(soft)), of_timer = contexts_of(trace.events(timer)),
             of_device = contexts_of(trace.events(device));
  ASSERT_FALSE(of_soft.empty());
  ASSERT_FALSE(of_timer.empty());
  const std::string status = daemon.ctl_ok({"status"});
  if (kernel_knows()) {
    const std::string expected = context_of_soft_interrupts();
    EXPECT_EQ(of_soft.count(expected), of_soft.size());
    EXPECT_GT(of_timer.count("hardirq"), 0U);
    for (const auto& contexts : {of_timer, of_device})
      EXPECT_EQ(contexts.count("hardirq") + contexts.count(expected), contexts.size());
    EXPECT_THAT(status, Not(HasSubstr("contexts of events")));
  } else {
    for (const auto& contexts : {of_soft, of_timer, of_device})
      EXPECT_EQ(contexts.count("unknown"), contexts.size());
    EXPECT_THAT(status, HasSubstr("not available: contexts of events"));
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
    if (kernel_knows() && soft_interrupts_are_tasks()) continue;  // a task wakes
    EXPECT_EQ(std::ranges::any_of(rows, [](const json& row) { return row.contains("context"); }),
              kernel_knows())
        << rows;
  }
}

}  // namespace
}  // namespace ktraced::live
