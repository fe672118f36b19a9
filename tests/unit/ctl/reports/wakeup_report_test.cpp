// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/wakeup_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "unit/ctl/reports/report_fixture.h"

namespace ktraced::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class WakeupReportTest : public ReportTest {
 protected:
  static Bytes switched(uint64_t ts, int32_t from, int32_t to) {
    return make_record(EVENT_sched_switch, ts, static_cast<uint32_t>(from),
                       rec_sched_switch{.prev_pid = from, .prev_state = 1, .next_pid = to});
  }
  static Bytes woken(uint16_t event, uint64_t ts, int32_t by, int32_t tid) {
    return make_record(event, ts, static_cast<uint32_t>(by), rec_sched_wakeup{.pid = tid});
  }
  // nine (9) and its thread worker (10) are woken by eight (8), while busy (11) runs.
  std::string office() {
    constexpr uint64_t kStart = kSecond;
    return write({.schema = built_schema(),
                  .packets = {{.cpu = 0,
                               .records = {switched(kStart, 0, 11), switched(kStart + 4000, 11, 9),
                                           switched(kStart + 5000, 9, 10)}},
                              {.cpu = 1,
                               .records = {woken(EVENT_sched_waking, kStart + 900, 8, 9),
                                           woken(EVENT_sched_wakeup, kStart + 1000, 8, 9),
                                           woken(EVENT_sched_waking, kStart + 1900, 8, 10),
                                           woken(EVENT_sched_wakeup, kStart + 2000, 8, 10)}}},
                  .names = {task_name(8, 1, 8, "eight"), task_name(9, 1, 9, "nine"),
                            task_name(10, 1, 9, "worker"), task_name(11, 1, 11, "busy")},
                  .begin_ns = kStart,
                  .end_ns = 2 * kSecond});
  }
  json wakeups(const std::string& who, const SelectionArgs& selection = {}) {
    ReportCommand command = this->command(ReportCommand::Kind::wakeups, {directory_.path() / "a"});
    command.who = who;
    command.selection = selection;
    run(command, true);
    EXPECT_TRUE(result_);
    return json::parse(out_);
  }
  static size_t threads_of(const json& report) { return report["threads"].size(); }
};

TEST_F(WakeupReportTest, FindsThreadsByProcessThreadOrName) {
  office();
  EXPECT_EQ(threads_of(wakeups("9")), 2U);
  EXPECT_EQ(threads_of(wakeups("10")), 1U);
  EXPECT_EQ(threads_of(wakeups("work*")), 1U);
}

TEST_F(WakeupReportTest, CountsThreadsWithoutNamesAmongAll) {
  constexpr uint64_t kStart = kSecond;
  write({.schema = built_schema(),
         .packets = {{.cpu = 0,
                      .records = {woken(EVENT_sched_waking, kStart + 900, 0, 9),
                                  woken(EVENT_sched_wakeup, kStart + 1000, 0, 9),
                                  switched(kStart + 4000, 0, 9), switched(kStart + 5000, 9, 0)}}},
         .begin_ns = kStart,
         .end_ns = 2 * kSecond});
  const json report = wakeups("*");
  EXPECT_EQ(report["delay"]["count"], 1U);
  ASSERT_EQ(threads_of(report), 1U);
  EXPECT_EQ(report["threads"][0]["tid"], 9U);
  EXPECT_TRUE(report["threads"][0]["comm"].is_null());
}

TEST_F(WakeupReportTest, RefusesThreadsThatDoNotExist) {
  office();
  const auto why_not = [&](const std::string& who) {
    ReportCommand command = this->command(ReportCommand::Kind::wakeups, {directory_.path() / "a"});
    command.who = who;
    run(command, false);
    EXPECT_FALSE(result_);
    EXPECT_EQ(result_ ? ExitCode::ok : result_.error().code, ExitCode::usage);
    EXPECT_EQ(out_, "");
    return result_ ? "" : result_.error().message;
  };
  EXPECT_EQ(why_not("workr"), "unknown thread 'workr'; did you mean 'worker'?");
  EXPECT_THAT(why_not("work"), HasSubstr("unknown thread 'work'"));
  EXPECT_THAT(why_not("zz*"), HasSubstr("unknown thread 'zz*'"));
  EXPECT_EQ(why_not("77"), "no thread or process with the id 77 is known");
}

TEST_F(WakeupReportTest, SaysSoWhenAThreadWasNotWoken) {
  ReportCommand command = this->command(ReportCommand::Kind::wakeups, {office()});
  command.who = "eight";
  run(command, false);
  EXPECT_TRUE(result_);
  EXPECT_THAT(out_, HasSubstr("eight did not wait for a CPU, or none of its waits is selected\n"));
}

TEST_F(WakeupReportTest, HasWakersAndWhatRanInstead) {
  office();
  const json report = wakeups("nine");
  EXPECT_EQ(report["delay"]["count"], 1);
  EXPECT_EQ(report["delay"]["max_ns"], 3000);
  const json& waker = report["wakers"]["rows"][0];
  EXPECT_EQ(waker["tid"], 8);
  EXPECT_EQ(waker["comm"], "eight");
  EXPECT_EQ(report["instead"]["rows"],
            (json{{{"tid", 11}, {"comm", "busy"}, {"waits", 1}, {"ns", 3000}}}));
  EXPECT_EQ(report["unknown_ns"], 0);
  const json& longest = report["longest"][0];
  EXPECT_EQ(longest["ts"], kSecond + 1000);
  EXPECT_EQ(longest["waker"], (json{{"tid", 8}, {"comm", "eight"}}));
  EXPECT_EQ(longest["instead"]["comm"], "busy");
  EXPECT_EQ(longest["reason"], "woken");
  EXPECT_FALSE(report["wakers_are_guessed"]);
}

TEST_F(WakeupReportTest, HasWaitsAfterPreemptions) {
  constexpr uint64_t kStart = kSecond;
  Bytes preempted = make_record(EVENT_sched_switch, kStart + 1000, 9,
                                rec_sched_switch{.prev_pid = 9, .prev_state = 0, .next_pid = 11});
  write({.schema = built_schema(),
         .packets = {{.cpu = 0,
                      .records = {switched(kStart, 0, 9), preempted, switched(kStart + 4000, 11, 9),
                                  switched(kStart + 5000, 9, 0)}}},
         .names = {task_name(9, 1, 9, "nine"), task_name(11, 1, 11, "busy")},
         .begin_ns = kStart,
         .end_ns = 2 * kSecond});
  const json report = wakeups("nine");
  EXPECT_EQ(report["preempted"]["total_ns"], 3000);
  EXPECT_EQ(report["delay"]["count"], 0);
  EXPECT_EQ(report["instead"]["rows"],
            (json{{{"tid", 11}, {"comm", "busy"}, {"waits", 1}, {"ns", 3000}}}));
  const json& longest = report["longest"][0];
  EXPECT_EQ(longest["ts"], kStart + 1000);
  EXPECT_EQ(longest["reason"], "preempted");
  EXPECT_TRUE(longest["waker"].is_null());
  EXPECT_EQ(longest["instead"]["tid"], 11);
  ReportCommand command = this->command(ReportCommand::Kind::wakeups, {directory_.path() / "a"});
  command.who = "nine";
  run(command, false);
  EXPECT_THAT(out_, HasSubstr("    11  busy             1  3 us  100.0 %\n"));
  EXPECT_THAT(out_, HasSubstr("nine  (preempted)  busy 11 for 3 us\n"));
  command.csv = true;
  command.table = "longest";
  run(command, false);
  EXPECT_THAT(out_, HasSubstr("waker.tid,waker.comm,reason,waker.context,waker.cpu\n"
                              "1000001000,3000,0,9,nine,11,busy,3000,,,preempted,,\n"));
}

TEST_F(WakeupReportTest, SaysWhoWokeWhom) {
  office();
  const json pairs = wakeups("9")["pairs"];
  EXPECT_EQ(pairs["of"], 2);
  EXPECT_EQ(pairs["rows"][0], (json{{"tid", 9},
                                    {"comm", "nine"},
                                    {"waker", {{"tid", 8}, {"comm", "eight"}}},
                                    {"count", 1},
                                    {"total_ns", 3000},
                                    {"max_ns", 3000},
                                    {"max_ts", kSecond + 1000}}));
  ReportCommand command = this->command(ReportCommand::Kind::wakeups, {directory_.path() / "a"});
  command.who = "9";
  command.by = "max";
  run(command, false);
  EXPECT_THAT(out_, HasSubstr("    10  worker  eight 8      1         3 us     3 us  1.000002"));
  command.csv = true;
  command.table = "pairs";
  run(command, false);
  EXPECT_THAT(out_, HasSubstr("\n9,nine,8,eight,1,3000,3000,1000001000,,,\n"));
  command.who = "nine";
  command.csv = false;
  run(command, false);
  EXPECT_THAT(out_, Not(HasSubstr("THREAD  WOKEN   BY"))) << "the same as its wakers";
}

TEST_F(WakeupReportTest, NamesInterruptsThatWake) {
  constexpr uint64_t kStart = kSecond;
  const auto wake_in = [](record_context context, uint64_t ts, int32_t tid) {
    return std::vector{in_context(context, woken(EVENT_sched_waking, ts, 8, tid)),
                       in_context(context, woken(EVENT_sched_wakeup, ts, 8, tid))};
  };
  std::vector<Bytes> wakes = wake_in(CONTEXT_HARDIRQ, kStart + 1000, 9);
  std::ranges::copy(wake_in(CONTEXT_SOFTIRQ, kStart + 2000, 10), std::back_inserter(wakes));
  write({.schema = built_schema(),
         .packets = {{.cpu = 0,
                      .records = {switched(kStart, 0, 11), switched(kStart + 4000, 11, 9),
                                  switched(kStart + 5000, 9, 10)}},
                     {.cpu = 3, .records = wakes}},
         .names = {task_name(8, 1, 8, "eight"), task_name(9, 1, 9, "nine"),
                   task_name(10, 1, 9, "worker"), task_name(11, 1, 11, "busy")},
         .begin_ns = kStart,
         .end_ns = 2 * kSecond});
  const json report = wakeups("9");
  ASSERT_EQ(report["wakers"]["rows"].size(), 2U);
  const json& hard = report["wakers"]["rows"][0];
  EXPECT_EQ(hard["cpu"], 3);
  EXPECT_TRUE(hard["tid"].is_null() && hard["pid"].is_null() && hard["comm"].is_null()) << hard;
  const json& soft = report["wakers"]["rows"][1];
  EXPECT_EQ(soft["context"], "softirq");
  EXPECT_EQ(soft["tid"], 8);
  EXPECT_FALSE(soft.contains("cpu")) << soft;
  EXPECT_EQ(report["pairs"]["rows"][0]["waker"],
            (json{{"context", "hardirq"}, {"cpu", 3}, {"tid", nullptr}, {"comm", nullptr}}));
  EXPECT_EQ(report["pairs"]["rows"][1]["waker"],
            (json{{"context", "softirq"}, {"tid", 8}, {"comm", "eight"}}));
  ReportCommand command = this->command(ReportCommand::Kind::wakeups, {directory_.path() / "a"});
  command.who = "9";
  run(command, false);
  EXPECT_THAT(out_, HasSubstr("        hard interrupt (on CPU 3)"));
  EXPECT_THAT(out_, HasSubstr("     8  eight, in a soft interrupt"));
  EXPECT_THAT(out_, HasSubstr("worker  eight 8, in a soft interrupt"));
  command.csv = true;
  command.table = "pairs";
  run(command, false);
  EXPECT_THAT(out_, HasSubstr("\n9,nine,,,1,3000,3000,1000001000,,hardirq,3\n"));
  EXPECT_THAT(out_, HasSubstr("\n10,worker,8,eight,1,3000,3000,1000002000,,softirq,\n"));
}

TEST_F(WakeupReportTest, TakesASelection) {
  office();
  EXPECT_EQ(wakeups("9", {.comms = {"worker"}})["delay"]["count"], 1);
  EXPECT_EQ(wakeups("9")["delay"]["count"], 2);
}

TEST_F(WakeupReportTest, IsReadable) {
  ReportCommand command = this->command(ReportCommand::Kind::wakeups, {office()});
  command.who = "nine";
  run(command, false);
  EXPECT_THAT(out_, HasSubstr("1 thread matches nine: woken 1 time, preempted 0 times for"));
  EXPECT_THAT(out_, HasSubstr("     8  eight         1"));
  EXPECT_THAT(out_, HasSubstr("busy 11 for 3 us"));
  command.csv = true;
  command.table = "instead";
  run(command, false);
  EXPECT_EQ(out_, "tid,comm,waits,ns,others\n11,busy,1,3000,\n");
}

}  // namespace
}  // namespace ktraced::test
