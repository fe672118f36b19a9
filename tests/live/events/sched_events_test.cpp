// SPDX-License-Identifier: BSD-2-Clause
// Switches, wakeups and migrations, compared with the scheduler's own counts.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "harness/client/stream.h"
#include "harness/traces/truth.h"

namespace ktraced::live {
namespace {

constexpr long long kBeginMark = 0x1001, kEndMark = 0x1002;

// The events between the two marks of a thread.
struct Window {
  uint64_t begin = 0, end = 0;
  [[nodiscard]] bool holds(const json& event) const {
    return event["ts"] > begin && event["ts"] < end;
  }
};

Window window_of(const Trace& trace, long tid) {
  Window window;
  for (const json& event : trace.events("sys_enter", tid)) {
    if (event["tid"] != tid) continue;
    auto what = static_cast<long long>(numbers_of(event, "args")[1]);
    if (what == kBeginMark) window.begin = event["ts"];
    if (what == kEndMark) window.end = event["ts"];
  }
  EXPECT_LT(window.begin, window.end);
  return window;
}

// Traces two threads that switch back and forth; puts their result into `expected_`.
class Switching : public testing::Test {
 protected:
  void SetUp() override {
    Daemon daemon(json{{"events", {{"sched", true}, {"syscalls", {{"only", {"getpriority"}}}}}}});
    WaitingTruth truth({"--comm", "pingpong", "switch", "500", "1"});
    daemon.set_filter({{"follow", {truth.pid()}}});
    Stream stream(daemon);
    expected_ = truth.act();
    trace_ = stream.finish();
    ASSERT_EQ(trace_.lost(), 0);
    missed_ = daemon.event_status("sched_switch")["missed"];
  }

  // Events of that name about `tid` (in `field`) within its window.
  [[nodiscard]] std::vector<json> about(const json& thread, const std::string& name,
                                        const std::string& field) const {
    Window window = window_of(trace_, thread["tid"]);
    auto found = trace_.events(name);
    std::erase_if(found, [&](const json& event) {
      return number_of(event, field) != thread["tid"] || !window.holds(event);
    });
    return found;
  }

  json expected_;
  Trace trace_;
  long missed_ = 0;  // switches that the kernel skipped
};

// The first of these events, in order of time, after which another one with the same field has this
// thread: one in between is missing, or one of them is too many.
std::string first_repetition(std::vector<json> events, const json& thread) {
  std::ranges::sort(events, {}, [](const json& event) { return event["ts"].get<uint64_t>(); });
  const auto away = [&](const json& event) {
    return number_of(event, "prev_pid") == thread["tid"];
  };
  const auto found = std::ranges::adjacent_find(
      events, [&](const json& a, const json& b) { return away(a) == away(b); });
  return found == events.end() ? "none" : found->dump() + "\n" + std::next(found)->dump();
}

TEST_F(Switching, SwitchesAwayEqualTheSchedulersCounts) {
  for (const json& thread : expected_["threads"]) {
    long sleeping = 0, runnable = 0;
    for (const json& event : about(thread, "sched_switch", "prev_pid")) {
      EXPECT_EQ(number_of(event, "prev_prio"), thread["prio"]);
      EXPECT_EQ(event["cpu"], expected_["cpu"]);
      EXPECT_EQ(event["tid"], thread["tid"]);
      EXPECT_EQ(event["comm"], "pingpong");
      std::string state = name_of(event, "prev_state");
      if (state == "S") ++sleeping;
      if (state == "R" || state == "R+") ++runnable;
    }
    EXPECT_EQ(sleeping, thread["voluntary"]);
    // A preemption may fall between the marks and the reading of the counts.
    EXPECT_NEAR(runnable, thread["involuntary"].get<long>(), 2);
  }
}

TEST_F(Switching, EverySwitchAwayIsFollowedByOneBack) {
  for (const json& thread : expected_["threads"]) {
    auto away = about(thread, "sched_switch", "prev_pid"),
         back = about(thread, "sched_switch", "next_pid");
    auto both = away;
    both.insert(both.end(), back.begin(), back.end());
    EXPECT_EQ(away.size(), back.size()) << missed_ << " skipped; twice in a row:\n"
                                        << first_repetition(both, thread);
    for (const json& event : back) EXPECT_EQ(number_of(event, "next_prio"), thread["prio"]);
  }
}

TEST_F(Switching, EverySleepEndsInOneWakingAndOneWakeup) {
  for (const json& thread : expected_["threads"]) {
    auto waking = about(thread, "sched_waking", "pid"),
         wakeup = about(thread, "sched_wakeup", "pid");
    EXPECT_EQ(wakeup.size(), thread["voluntary"].get<size_t>());
    EXPECT_EQ(waking.size(), wakeup.size());
    for (const json& event : wakeup) {
      EXPECT_EQ(number_of(event, "target_cpu"), expected_["cpu"]);
      EXPECT_EQ(number_of(event, "prio"), thread["prio"]);
    }
  }
}

TEST_F(Switching, NewThreadsAreWokenOnce) {
  for (const json& thread : expected_["threads"]) {
    auto woken = trace_.where([&](const json& event) {
      return event["event"] == "sched_wakeup_new" && number_of(event, "pid") == thread["tid"];
    });
    ASSERT_EQ(woken.size(), 1U);
    EXPECT_EQ(number_of(woken[0], "prio"), expected_["prio"]);
    EXPECT_EQ(woken[0]["pid"], expected_["pid"]);
  }
}

TEST(SchedMigrateTask, RecordsEachMoveWithBothCpus) {
  Daemon daemon(json{{"events", {{"sched", {"sched_migrate_task"}}}}});
  WaitingTruth truth({"migrate", "20"});
  Stream stream(daemon);
  json expected = truth.act();
  Trace trace = stream.finish();
  ASSERT_EQ(trace.lost(), 0);
  auto moves =
      trace.where([&](const json& event) { return number_of(event, "pid") == truth.pid(); });
  // Moves before the first pinning are made by the scheduler itself.
  ASSERT_GE(moves.size(), expected["moves"].size());
  moves.erase(moves.begin(), moves.end() - static_cast<long>(expected["moves"].size()));
  for (size_t i = 0; i < moves.size(); ++i) {
    EXPECT_EQ(number_of(moves[i], "orig_cpu"), expected["moves"][i]["from"]);
    EXPECT_EQ(number_of(moves[i], "dest_cpu"), expected["moves"][i]["to"]);
    EXPECT_EQ(number_of(moves[i], "prio"), expected["prio"]);
  }
}

}  // namespace
}  // namespace ktraced::live
