// SPDX-License-Identifier: BSD-2-Clause
// Every hit is accounted for: shown, filtered, or reported as lost.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "harness/client/stream.h"
#include "harness/machine/bpf_view.h"
#include "harness/machine/scale.h"
#include "harness/traces/flight.h"
#include "harness/traces/numbers.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

// Only sys_enter of getppid, so that N calls are N events.
json getppid_with_ring(int buffer_kb) {
  return {{"events", {{"syscalls", {{"only", {"getppid"}}}}}},
          {"stream", {{"buffer_kb", buffer_kb}}}};
}

long ring_bytes_waiting(Daemon& daemon) {
  long waiting = 0;
  json status = daemon.call("status");
  for (const json& session : status["sessions"])
    for (const json& cpu : session["rings"])
      waiting += cpu["produced"].get<long>() - cpu["consumed"].get<long>();
  return waiting;
}

// The hits of an event while it was on, without those that the kernel missed.
uint64_t hits(const json& event) {
  return event["recorded"].get<uint64_t>() + event["filtered"].get<uint64_t>() +
         event["dropped"].get<uint64_t>();
}

TEST(Accounting, ShowsEveryCallWhenRingsAreLarge) {
  const long calls = scaled(100'000);
  Daemon daemon(getppid_with_ring(16384));
  daemon.disable({"sys_exit"});
  WaitingTruth truth({"getppid", std::to_string(calls)});
  daemon.set_filter({{"follow", {truth.pid()}}});
  Stream stream(daemon);
  truth.act();
  Trace trace = stream.finish();
  EXPECT_EQ(trace.events("sys_enter", truth.pid()).size(), static_cast<size_t>(calls));
  EXPECT_EQ(trace.lost(), 0);
  EXPECT_EQ(daemon.event_status("sys_enter")["recorded"], calls);
}

class RingSize : public testing::TestWithParam<int> {};

TEST_P(RingSize, ShownAndLostEventsAddUpToTheCalls) {
  const long calls = scaled(1'000'000);
  Daemon daemon(getppid_with_ring(GetParam()));
  daemon.disable({"sys_exit"});
  WaitingTruth truth({"getppid", std::to_string(calls)});
  daemon.set_filter({{"follow", {truth.pid()}}});
  Stream stream(daemon);
  if (GetParam() == 64) {
    daemon.send(SIGSTOP);  // so the ring fills up for sure
    truth.go();
    EXPECT_TRUE(eventually([&] { return cpu_ticks(truth.pid()) >= 2; }));
    daemon.send(SIGCONT);
  }
  truth.act();
  const Totals totals = stream.finish_and_count();
  EXPECT_EQ(totals.shown + totals.lost, calls);
  if (GetParam() == 64) {
    EXPECT_GT(totals.lost, 0) << "the ring was meant to be too small";
  }
  json status = daemon.event_status("sys_enter");
  EXPECT_EQ(status["recorded"].get<long>() + status["dropped"].get<long>(), calls);
  RecordProperty("shown", std::to_string(totals.shown));
}

INSTANTIATE_TEST_SUITE_P(Kilobytes, RingSize, testing::Values(64, 4096),
                         [](const auto& test) { return std::to_string(test.param); });

// Calls continue during the test, so the ring fills up and is emptied repeatedly.
void stop_until_something_is_lost(Daemon& daemon, pid_t caller) {
  auto count = [&](const char* counter) {
    return daemon.event_status("sys_enter")[counter].get<long>();
  };
  const long dropped = count("dropped");
  do {
    daemon.send(SIGSTOP);
    const long ticks = cpu_ticks(caller);
    EXPECT_TRUE(eventually([&] { return cpu_ticks(caller) >= ticks + 2; }));
    daemon.send(SIGCONT);
  } while (count("dropped") == dropped && !testing::Test::HasFailure());
  const long recorded = count("recorded");
  EXPECT_TRUE(eventually([&] { return count("recorded") > recorded; }));
}

TEST(Accounting, ReportsLossesWhereTheyHappened) {
  WaitingTruth truth({"--cpu", "0", "numbered", "0"});
  Daemon daemon(for_processes({truth.pid()},
                              {{"events", numbered_calls()}, {"stream", {{"buffer_kb", 64}}}}));
  daemon.disable({"sys_exit"});
  Stream stream(daemon);
  truth.go();
  for (int i = 0; i < 2; ++i) stop_until_something_is_lost(daemon, truth.pid());
  truth.finish();
  Trace trace = stream.finish();
  ASSERT_GT(trace.lost(), 0) << "the ring was meant to be too small";
  // Losses appear between events, not all at the end: losses and events of the CPU alternate.
  long changes = 0;
  uint64_t last_ts = 0;
  bool was_loss = false;
  for (const json& line : trace.lines()) {
    ASSERT_EQ(line["cpu"], 0);
    EXPECT_GE(line["ts"].get<uint64_t>(), last_ts);
    last_ts = line["ts"];
    bool is_loss = line.contains("lost");
    EXPECT_EQ(line["event"], "sys_enter");
    changes += is_loss != was_loss ? 1 : 0;
    was_loss = is_loss;
  }
  EXPECT_GT(changes, 2);
}

// Until the test gives up, the timer empties the ring ten times. More events arrive.
TEST(Accounting, WakesTheDrainBeforeTheTimerWhenARingFills) {
  constexpr size_t kRingKb = 256, kTimes = 10;
  constexpr size_t kRecords = kRingKb * 1024 / 64;  // each has more than 64 bytes
  WaitingTruth truth({"--cpu", "0", "numbered", "0"});
  const Milliseconds latency = kNever / kTimes;
  Daemon daemon(for_processes(
      {truth.pid()}, {{"events", numbered_calls()},
                      {"stream", {{"buffer_kb", kRingKb}, {"max_latency_ms", latency.count()}}}}));
  Stream stream(daemon, {"--event", "sys_enter"});
  truth.go();
  EXPECT_TRUE(eventually([&] { return stream.lines_so_far() > (kTimes + 1) * kRecords; }));
  truth.finish();
  stream.finish_and_count();
}

TEST(Accounting, HitsEqualTheKernelsCountOfProgramRuns) {
  const std::vector<std::string> names = {"sys_enter",       "sys_exit",     "kmalloc",
                                          "kmem_cache_free", "sched_switch", "sched_waking"};
  RunStatistics counting;
  Daemon daemon(
      {{"stream", {{"buffer_kb", 64}}}, {"filter", {{"exclude", {{"comm", {"ktracectl"}}}}}}});
  Stream stream(daemon);
  daemon.enable(names);
  daemon.send(SIGSTOP);  // so the rings fill up for sure
  run_truth({"getppid", std::to_string(scaled(200'000))});
  daemon.send(SIGCONT);
  run_truth({"switch", "2000", "0"});
  run_truth({"kmem", "2000"});
  daemon.disable(names);
  long dropped = 0;
  for (const std::string& name : names) {
    ProgramCounts kernel;
    json ours, catcher;
    // The kernel may release a program with a delay.
    EXPECT_TRUE(eventually([&] {
      kernel = program_counts(daemon.pid(), name);
      ours = daemon.event_status(name);
      catcher = daemon.call("status")["catchers"].value(name, json::object());
      return hits(ours) + ours["ignored"].get<uint64_t>() ==
             kernel.runs - catcher.value("left", uint64_t{0}) +
                 catcher.value("caught", uint64_t{0});
    })) << name
        << ": " << kernel.runs << " runs, " << ours << catcher;
    EXPECT_EQ(ours["missed"].get<uint64_t>() + catcher.value("caught", uint64_t{0}),
              kernel.missed + catcher.value("left", uint64_t{0}))
        << name;
    EXPECT_GT(kernel.runs, 0U) << name;
    dropped += ours["dropped"].get<long>();
  }
  EXPECT_GT(dropped, 0);
  stream.finish();
}

// Some counts are in the flight rings alone, others are not; see struct flight_header.
TEST(Accounting, CountsEachRecordOnceWhenRingsAreReplaced) {
  json config = flight_config();
  config["filter"] = {{"comm", {own_name()}}};
  Daemon daemon(config);
  uint64_t calls = 0;
  const auto act = [&] {
    run_truth({"--comm", own_name(), "numbered", "500"});
    calls += 500;
  };
  const auto expect_counted = [&](const char* after) {
    const json counts = daemon.event_status("sys_enter");
    const auto recorded = counts["recorded"].get<uint64_t>();
    EXPECT_LE(recorded, calls) << after;
    EXPECT_GE(recorded + counts["missed"].get<uint64_t>(), calls) << after;
    EXPECT_EQ(counts["dropped"], 0) << after;
  };
  act();
  expect_counted("recording");
  daemon.call("snapshot.take");
  act();
  expect_counted("a snapshot");
  {
    Stream stream(daemon);
    act();
    stream.finish();
  }
  expect_counted("a stream beside the flight recorder");
  daemon.call("snapshot.disable");
  expect_counted("turning the flight recorder off");
  daemon.call("snapshot.enable");
  act();
  expect_counted("turning it on again");
  daemon.end(SIGKILL);
  daemon.start();
  act();
  expect_counted("another daemon has taken over");
}

TEST(Accounting, TotalsAreTheSumsOverCpus) {
  Daemon daemon(json{{"events", {{"sched", true}, {"kmem", true}, {"syscalls", true}}},
                     {"stream", {{"buffer_kb", 64}}}});
  Stream stream(daemon, {"--event", "mark_victim"});
  run_truth({"switch", "500", "1"});
  const json while_counting = daemon.call("status");
  daemon.disable({"sched", "kmem", "syscalls"});
  for (const json& status : {while_counting, daemon.call("status")})
    for (const auto& [name, event] : status["events"].items())
      for (const char* counter : {"recorded", "filtered", "dropped"}) {
        uint64_t sum = 0;
        for (const json& cpu : event["per_cpu"]) sum += cpu[counter].get<uint64_t>();
        EXPECT_EQ(sum, event[counter].get<uint64_t>()) << name << "." << counter;
      }
  stream.finish();
}

TEST(Accounting, ShowsRingSizesAndPositionsForEachCpu) {
  Daemon daemon(json{{"events", {{"syscalls", true}}}, {"stream", {{"buffer_kb", 256}}}});
  Stream stream(daemon);
  for (long cpu = 0; cpu < ::sysconf(_SC_NPROCESSORS_ONLN); ++cpu)
    run_truth({"--cpu", std::to_string(cpu), "getppid", "100"});
  daemon.disable({"syscalls"});
  json cpus = daemon.call("session.list")["sessions"].back()["rings"];
  ASSERT_EQ(cpus.size(), static_cast<size_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
  for (const json& cpu : cpus) {
    EXPECT_EQ(cpu["ring_bytes"], 256 * 1024);
    EXPECT_GE(cpu["produced"], cpu["consumed"]);
    EXPECT_GT(cpu["produced"], 0);
  }
  EXPECT_TRUE(eventually([&] { return ring_bytes_waiting(daemon) == 0; }))
      << "drained by the timer";
  stream.finish();
}

TEST(Accounting, DeliversFewEventsBeforeARingIsFull) {
  Daemon daemon(getppid_with_ring(4096));
  WaitingTruth truth({"getppid", "1"});
  Stream stream(daemon, {"--event", "sys_enter", "--pid", std::to_string(truth.pid())});
  truth.act();
  EXPECT_TRUE(reaches([&] { return stream.lines_so_far(); }, 1));
  stream.finish();
}

}  // namespace
}  // namespace ktraced::live
