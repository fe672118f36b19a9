// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/run_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kReasonNames[] = {"known",  "unseen",        "before trace",
                                             "lost",   "config change", "gap",
                                             "filter", "evicted",       "trace end"};

// Writes down what a tracker says.
class RunLog : public RunSink {
 public:
  explicit RunLog(RunTracker& tracker) { tracker.add_sink(*this); }

  // "cpu: begin-end tid, then why"; "?" if only the beginning is known
  void on_run(const RunInterval& interval) override {
    std::string text = fmt::format("{}: {}-", interval.cpu, interval.begin_ns);
    text += interval.known ? std::to_string(interval.end_ns) : "?";
    text += fmt::format(" {}", interval.tid);
    if (interval.then != Unknown::none)
      text += fmt::format(", then {}", kReasonNames[static_cast<size_t>(interval.then)]);
    ran.push_back(text);
  }
  void on_unknown(const UnknownInterval& interval) override {
    unknown.push_back(fmt::format("{}: {}-{} {}", interval.cpu, interval.begin_ns, interval.end_ns,
                                  kReasonNames[static_cast<size_t>(interval.why)]));
  }
  void on_switch(const Switch& what) override { covered.push_back(what.next_covered); }

  std::vector<std::string> ran, unknown;
  std::vector<bool> covered;  // of each switch, whether the next thread is
};

class RunTrackerTest : public DecoderTest {
 protected:
  static constexpr int32_t kBash = 3352, kNginx = 812, kMake = 4000;

  RunTrackerTest() { tracker_.add_source(schema_, names_); }
  void change(uint64_t ts, uint32_t cpu, int32_t from, int32_t to, int32_t prio = 120) {
    const Bytes record =
        make_record(EVENT_sched_switch, ts, static_cast<uint32_t>(from),
                    rec_sched_switch{.prev_pid = from, .next_pid = to, .next_prio = prio});
    tracker_.on_record({.source = 0, .cpu = cpu}, RecordView(record.data()));
  }
  void lose(uint64_t ts, uint32_t cpu, uint64_t count = 7, uint16_t event = EVENT_sched_switch) {
    tracker_.on_loss({.ts = ts, .cpu = cpu, .event_id = event, .count = count});
  }
  void configure(uint64_t ts, const char* config) {
    tracker_.on_config_change(ts, TraceConfig::of(nlohmann::json::parse(config)));
  }

  RunTracker tracker_;
  RunLog log_{tracker_};
};

TEST_F(RunTrackerTest, TilesTheTimeOfEachCpu) {
  change(100, 0, 0, kBash);
  change(120, 1, 0, kNginx);
  change(150, 0, kBash, 0);
  change(180, 0, 0, kMake);
  tracker_.finish(300);
  EXPECT_THAT(log_.ran,
              ElementsAre("0: 100-150 3352", "0: 150-180 0", "0: 180-300 4000, then trace end",
                          "1: 120-300 812, then trace end"));
  EXPECT_THAT(log_.unknown, ElementsAre("0: 0-100 before trace", "1: 0-120 before trace"));
}

TEST_F(RunTrackerTest, KnowsARunUpToALoss) {
  change(100, 0, 0, kBash);
  change(110, 1, 0, kNginx);
  lose(130, 0);
  lose(140, 0);
  change(200, 0, kBash, kMake);
  change(210, 1, kNginx, 0);
  EXPECT_THAT(log_.ran, ElementsAre("0: 100-130 3352, then lost", "1: 110-210 812"));
  EXPECT_THAT(log_.unknown,
              ElementsAre("0: 0-100 before trace", "1: 0-110 before trace", "0: 130-200 lost"));
}

TEST_F(RunTrackerTest, KnowsOnlyTheBeginningOfARunWhereAHistoryBeginsInTheMiddle) {
  change(100, 0, 0, kBash);
  lose(500, 0, 0);
  change(510, 0, kBash, 0);
  EXPECT_THAT(log_.ran, ElementsAre("0: 100-? 3352, then lost"));
  EXPECT_THAT(log_.unknown, ElementsAre("0: 0-100 before trace", "0: 100-510 lost"));
}

TEST_F(RunTrackerTest, IgnoresLossesOfOtherEvents) {
  change(100, 0, 0, kBash);
  lose(130, 0, 7, EVENT_sched_wakeup);
  change(200, 0, kBash, 0);
  EXPECT_THAT(log_.ran, ElementsAre("0: 100-200 3352"));
}

// On a CPU that is offline no switch is traced.
TEST_F(RunTrackerTest, KnowsOnlyTheBeginningOfTheRunThatMayHaveTakenItsCpuOffline) {
  constexpr int32_t kStopper = 24;
  learn(task_name(kStopper, 1, kStopper, "migration/1"));
  change(100, 1, 0, kStopper, 0);
  change(110, 1, kStopper, 0);
  change(200, 1, 0, kStopper, 0);
  tracker_.finish(300);
  EXPECT_THAT(log_.ran, ElementsAre("1: 100-110 24", "1: 110-200 0", "1: 200-? 24, then unseen"));
  EXPECT_THAT(log_.unknown, ElementsAre("1: 0-100 before trace", "1: 200-300 unseen"));
}

TEST_F(RunTrackerTest, KnowsTheRunOfAThreadThatHasOnlyTheNameOfTheOneThatTakesItsCpuOffline) {
  constexpr int32_t kImpostor = 24;
  learn(task_name(kImpostor, 1, kImpostor, "migration/1"));
  change(100, 1, 0, kImpostor);
  tracker_.finish(300);
  EXPECT_THAT(log_.ran, ElementsAre("1: 100-300 24, then trace end"));
}

TEST_F(RunTrackerTest, KnowsNoRunAcrossAMissingSwitch) {
  change(100, 0, 0, kBash);
  change(200, 0, kNginx, kMake);
  change(250, 0, kMake, 0);
  EXPECT_THAT(log_.ran, ElementsAre("0: 100-? 3352, then unseen", "0: 200-250 4000"));
  EXPECT_THAT(log_.unknown, ElementsAre("0: 0-100 before trace", "0: 100-200 unseen"));
}

TEST_F(RunTrackerTest, KnowsARunUpToAPause) {
  configure(0, R"({"state":"running","events":["sched_switch"]})");
  change(100, 0, 0, kBash);
  configure(150, R"({"state":"paused","events":["sched_switch"]})");
  configure(900, R"({"state":"running","events":["sched_switch"]})");
  change(950, 0, kBash, kNginx);
  tracker_.finish(1000);
  EXPECT_THAT(log_.ran, ElementsAre("0: 100-150 3352, then config change",
                                    "0: 950-1000 812, then trace end"));
  EXPECT_THAT(log_.unknown, ElementsAre("0: 0-100 before trace", "0: 150-950 config change"));
}

TEST_F(RunTrackerTest, KeepsRunsAcrossChangesOfOtherEvents) {
  configure(0, R"({"events":["sched_switch"]})");
  change(100, 0, 0, kBash);
  configure(150, R"({"events":["sched_switch","sched_wakeup"]})");
  change(200, 0, kBash, 0);
  EXPECT_THAT(log_.ran, ElementsAre("0: 100-200 3352"));
}

TEST_F(RunTrackerTest, DoesNotKnowWhenRejectedThreadsRan) {
  configure(0, R"({"filter":{"pid":[3350]}})");
  change(100, 0, kNginx, kBash);
  change(150, 0, kBash, kNginx);
  change(200, 0, kNginx, kBash);
  change(230, 0, kBash, kNginx);
  tracker_.finish(300);
  EXPECT_THAT(log_.ran, ElementsAre("0: 100-150 3352", "0: 150-? 812, then filter",
                                    "0: 200-230 3352", "0: 230-? 812, then filter"));
  EXPECT_THAT(log_.unknown,
              ElementsAre("0: 0-100 before trace", "0: 150-200 filter", "0: 230-300 filter"));
  EXPECT_THAT(log_.covered, ElementsAre(true, false, true, false));
}

TEST_F(RunTrackerTest, KnowsOnlyTheBeginningOfARunOfARejectedThreadBeforeALoss) {
  configure(0, R"({"filter":{"pid":[3350]}})");
  change(100, 0, kBash, kNginx);
  lose(130, 0);
  change(200, 0, kNginx, kBash);
  EXPECT_THAT(log_.ran, ElementsAre("0: 100-? 812, then lost"));
  EXPECT_THAT(log_.unknown, ElementsAre("0: 0-100 before trace", "0: 100-200 lost"));
}

TEST_F(RunTrackerTest, KnowsAFollowedThreadFromItsOwnEventsAndItsFork) {
  configure(0, R"({"filter":{"follow":[77]}})");
  change(100, 0, kNginx, kMake);  // either of the two may be the accepted one
  auto take = [&](const Bytes& record) {
    tracker_.on_record({.source = 0, .cpu = 0}, RecordView(record.data()));
  };
  take(make_record(EVENT_sys_enter, 110, kMake, rec_sys_enter{}));
  take(make_record(
      EVENT_sched_process_fork, 120, kMake,
      rec_sched_process_fork{.parent_pid = kMake, .child_pid = kBash, .child_tgid = kBash}));
  change(130, 0, kMake, kBash);
  change(140, 0, kBash, kNginx);
  EXPECT_THAT(log_.covered, ElementsAre(false, true, false));
  EXPECT_THAT(log_.ran, ElementsAre("0: 100-130 4000", "0: 130-140 3352"));
}

TEST_F(RunTrackerTest, DoesNotJoinTheRunsOfThreadsThatHadTheSameId) {
  learn(task_name(kBash, 150, 3350, "bash", 150));
  change(100, 0, 0, kBash);  // ended unseen
  change(200, 0, kBash, 0);
  change(210, 0, 0, kBash);
  change(220, 0, kBash, 0);
  EXPECT_THAT(log_.ran,
              ElementsAre("0: 100-? 3352, then unseen", "0: 200-210 0", "0: 210-220 3352"));
}

TEST_F(RunTrackerTest, ReportsACpuOfWhichOnlyLossesAreKnown) {
  lose(100, 3);
  tracker_.finish(300);
  EXPECT_THAT(log_.ran, IsEmpty());
  EXPECT_THAT(log_.unknown, ElementsAre("3: 0-300 before trace"));
}

}  // namespace
}  // namespace ktraced::test
