// SPDX-License-Identifier: BSD-2-Clause
// Switches, wakeups and migrations, compared with the scheduler's own counts.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

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

// The trace of two threads that switch back and forth.
class SwitchingTrace {
 public:
  SwitchingTrace() {
    Daemon daemon(json{{"events", {{"sched", true}, {"syscalls", {{"only", {"getpriority"}}}}}}});
    WaitingTruth truth({"--comm", "pingpong", "switch", "500", "1"});
    daemon.set_filter({{"follow", {truth.pid()}}});
    Stream stream(daemon);
    expected_ = truth.act();
    trace_ = stream.finish();
    EXPECT_EQ(trace_.lost(), 0);
  }

  void expect_switches_as_counted(const json& thread) const {
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
  // Each sleep ends in one waking and one wakeup.
  void expect_wakeups(const json& thread) const {
    auto waking = about(thread, "sched_waking", "pid"),
         wakeup = about(thread, "sched_wakeup", "pid");
    EXPECT_EQ(wakeup.size(), thread["voluntary"].get<size_t>());
    EXPECT_EQ(waking.size(), wakeup.size());
    for (const json& event : wakeup) {
      EXPECT_EQ(number_of(event, "target_cpu"), expected_["cpu"]);
      EXPECT_EQ(number_of(event, "prio"), thread["prio"]);
    }
  }
  void expect_woken_once_as_new(const json& thread) const {
    auto woken = trace_.where([&](const json& event) {
      return event["event"] == "sched_wakeup_new" && number_of(event, "pid") == thread["tid"];
    });
    ASSERT_EQ(woken.size(), 1U);
    EXPECT_EQ(number_of(woken[0], "prio"), expected_["prio"]);
    EXPECT_EQ(woken[0]["pid"], expected_["pid"]);
  }
  [[nodiscard]] const json& threads() const { return expected_["threads"]; }

 private:
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
};

TEST(Switching, SwitchesAndWakeupsEqualTheSchedulersCounts) {
  const SwitchingTrace trace;
  for (const json& thread : trace.threads()) {
    trace.expect_switches_as_counted(thread);
    trace.expect_wakeups(thread);
    trace.expect_woken_once_as_new(thread);
  }
}

// All switches of one CPU, in order of time.
class SwitchesOfOneCpu {
 public:
  SwitchesOfOneCpu(const Trace& trace, const json& cpu) {
    for (const json& event : trace.events("sched_switch")) {
      leaving_.insert(number_of(event, "prev_pid"));
      if (event["cpu"] == cpu) switches_.push_back(event);
    }
    std::ranges::sort(switches_, {}, [](const json& event) { return event["ts"].get<uint64_t>(); });
  }

  [[nodiscard]] const std::vector<json>& all() const { return switches_; }
  // The places where a switch to or from this thread is missing, within its window.
  [[nodiscard]] std::vector<std::string> gaps(const json& thread, const Window& window) const {
    std::vector<std::string> gaps;
    for (size_t i = 1; i < switches_.size(); ++i) {
      const json &before = switches_[i - 1], &after = switches_[i];
      const long long next = number_of(before, "next_pid"), prev = number_of(after, "prev_pid");
      const bool about_it = next == thread["tid"] || prev == thread["tid"];
      if (about_it && window.holds(after) && next != prev && leaving_.contains(next))
        gaps.push_back(before.dump() + "\n" + after.dump());
    }
    return gaps;
  }

 private:
  std::vector<json> switches_;
  std::set<long long> leaving_;  // threads that are seen to leave a CPU
};

// On a CPU, the thread of a switch is the one of the switch before: so each thread comes back once
// before it is switched away again. Except after a switch to a thread outside of this machine's pid
// namespace: what happens in its context is in no trace, so the switch from it is missing. Such a
// thread is never seen to leave a CPU.
TEST(Switches, EverySwitchAwayIsFollowedByOneBack) {
  Daemon daemon;
  WaitingTruth truth({"switch", "500", "1"});
  const std::string pid = std::to_string(truth.pid());
  Stream marks(daemon, {"--event", "sys_enter", "--syscall", "getpriority", "--pid", pid});
  Stream switches(daemon, {"--event", "sched_switch", "--buffer-kb", "16384"});
  const json expected = truth.act();
  const Trace all = switches.finish(), marked = marks.finish();
  ASSERT_EQ(all.lost() + marked.lost(), 0);
  const SwitchesOfOneCpu of_cpu(all, expected["cpu"]);
  const auto missed = daemon.event_status("sched_switch")["missed"].get<size_t>();
  for (const json& thread : expected["threads"]) {
    const Window window = window_of(marked, thread["tid"]);
    const auto gaps = of_cpu.gaps(thread, window);
    EXPECT_LE(gaps.size(), missed) << fmt::format("{}", fmt::join(gaps, "\n\n"));
    long away = 0;
    for (const json& event : of_cpu.all()) {
      if (!window.holds(event)) continue;
      if (number_of(event, "prev_pid") == thread["tid"]) ++away;
      if (number_of(event, "next_pid") == thread["tid"]) {
        EXPECT_EQ(number_of(event, "next_prio"), thread["prio"]) << event;
      }
    }
    EXPECT_GE(away, thread["voluntary"]);
  }
}

TEST(SchedMigrateTask, RecordsEachMoveWithBothCpus) {
  WaitingTruth truth({"migrate", "20"});
  Daemon daemon(for_processes({truth.pid()}, {{"events", {{"sched", {"sched_migrate_task"}}}}}));
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
