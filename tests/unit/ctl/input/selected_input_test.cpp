// SPDX-License-Identifier: BSD-2-Clause
// Reports on a selection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/ctl/reports/report_fixture.h"

namespace ktraced::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ReportEvents : public ReportTest {
 protected:
  // As spec(), with losses of two events.
  static TraceSpec lossy() {
    TraceSpec lossy = spec();
    lossy.packets[1].lost = {{.count = 5, .event_id = EVENT_sys_enter},
                             {.count = 3, .event_id = EVENT_kfree}};
    return lossy;
  }
  // A new trace.
  std::string path_of(const TraceSpec& spec) { return write(spec, {}, std::to_string(++written_)); }
  json chosen(ReportCommand::Kind kind, const std::string& path, std::vector<std::string> events) {
    return selected(kind, path, {.events = std::move(events)});
  }
  json selected(ReportCommand::Kind kind, const std::string& path, SelectionArgs selection) {
    ReportCommand report = command(kind, {path});
    report.selection = std::move(selection);
    run(report, true);
    return out_.empty() ? json() : json::parse(out_);
  }

 private:
  int written_ = 0;
};

TEST_F(ReportEvents, SummaryCountsOnlyChosenEvents) {
  const auto path = write(lossy(), [](Manifest& m) { m.missed = {{"kfree", 2}, {"kmalloc", 4}}; });
  const json report = chosen(ReportCommand::Kind::summary, path, {"kf*"});
  EXPECT_EQ(report["events"], (json{{"kfree",
                                     {{"events", 2},
                                      {"lost", 3},
                                      {"missed", 2},
                                      {"overwritten", 0},
                                      {"first_ns", 2 * kSecond}}}}));
  EXPECT_EQ(report["total"], json::parse(R"({"events":2,"lost":3,"missed":2,"overwritten":0})"));
  EXPECT_EQ(report["processes"]["of"], 1);
  EXPECT_EQ(report["window"]["seconds"], 2.0) << "the window is that of the trace";
}

TEST_F(ReportEvents, TakesGroupsAndSeveralNames) {
  const auto path = write(spec());
  EXPECT_EQ(chosen(ReportCommand::Kind::summary, path, {"kmem"})["total"]["events"], 4);
  EXPECT_EQ(chosen(ReportCommand::Kind::summary, path, {"kfree", "kmalloc"})["total"]["events"], 4);
  EXPECT_EQ(chosen(ReportCommand::Kind::summary, path, {"sched"})["total"]["events"], 0);
}

TEST_F(ReportEvents, ReportsWhichNeededEventsAreNotChosen) {
  const auto path = write(spec());
  const json report = chosen(ReportCommand::Kind::kmem, path, {"kmalloc"});
  EXPECT_EQ(report["types"]["kmalloc"]["count"], 2);
  EXPECT_EQ(report["types"]["kmalloc"]["freed"], 0);
  EXPECT_EQ(report["types"]["kmalloc"]["uncertain"], 2) << "their frees were left out";
  EXPECT_THAT(report["caveats"], ElementsAre("--event leaves out kfree"));
  EXPECT_EQ(chosen(ReportCommand::Kind::kmem, path, {"kmalloc", "kfree"})["caveats"],
            json::array());
}

TEST_F(ReportEvents, RefusesAnEventThatTheReportDoesNotUse) {
  const auto path = write(spec());
  chosen(ReportCommand::Kind::syscalls, path, {"sys_enter", "kmalloc"});
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::usage);
  EXPECT_EQ(result_.error().message,
            "report syscalls does not use 'kmalloc'; it uses sys_enter, sys_exit, "
            "sys_completed, sched_process_exec, sched_process_exit");
  chosen(ReportCommand::Kind::sched, path, {"sched"});
  EXPECT_TRUE(result_) << "the report uses some events of the group";
}

TEST_F(ReportEvents, SuggestsASimilarNameForAnUnknownOne) {
  const auto path = write(spec());
  chosen(ReportCommand::Kind::summary, path, {"kmaloc"});
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::usage);
  EXPECT_THAT(result_.error().message,
              HasSubstr("unknown event or group 'kmaloc'; did you mean 'kmalloc'?"));
  EXPECT_EQ(out_, "");
}

TEST_F(ReportEvents, SummaryCountsOnlyEventsOfSelectedTasks) {
  const auto path = write(lossy());
  const json report = selected(ReportCommand::Kind::summary, path, {.comms = {"nine"}});
  EXPECT_EQ(report["total"]["events"], 2);
  EXPECT_EQ(report["total"]["lost"], 8) << "the lost events may have been of that task";
  EXPECT_EQ(report["processes"]["rows"][0]["comm"], "nine");
  EXPECT_EQ(selected(ReportCommand::Kind::summary, path, {.cpus = {0}})["total"]["lost"], 0)
      << "they were lost on CPU 1";
  EXPECT_EQ(selected(ReportCommand::Kind::summary, path, {.where = {"ret == 0"}})["total"]["lost"],
            0)
      << "neither of them has the field";
}

TEST_F(ReportEvents, FollowsASelectedAllocationUntilAnyTaskFreesIt) {
  const auto path = write(spec());
  const json of_eight = selected(ReportCommand::Kind::kmem, path, {.pids = {8}});
  EXPECT_EQ(of_eight["types"]["kmalloc"]["count"], 2);
  EXPECT_EQ(of_eight["types"]["kmalloc"]["freed"], 1);
  EXPECT_EQ(of_eight["types"]["kmalloc"]["held"], 1);
  EXPECT_EQ(of_eight["types"]["kmalloc"]["frees"]["seen"], 0) << "another process freed them";
  const json of_nine = selected(ReportCommand::Kind::kmem, path, {.pids = {9}});
  EXPECT_EQ(of_nine["types"]["kmalloc"]["count"], 0);
  EXPECT_EQ(of_nine["types"]["kmalloc"]["held"], 0);
  EXPECT_EQ(of_nine["types"]["kmalloc"]["frees"]["seen"], 2);
  EXPECT_EQ(of_nine["types"]["kmalloc"]["frees"]["unknown"], 1) << "the other one is in the trace";
}

TEST_F(ReportEvents, RefusesAConditionThatConcernsNoneOfItsEvents) {
  const auto path = write(spec());
  selected(ReportCommand::Kind::sched, path, {.errors = {"ENOENT", "EPERM"}});
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::usage);
  EXPECT_EQ(result_.error().message,
            "report sched cannot use --error ENOENT,EPERM: it concerns none of its events "
            "(sched_switch, sched_wakeup, sched_wakeup_new, sched_migrate_task, "
            "sched_process_fork)");
}

TEST_F(ReportEvents, SaysWhichOptionSelectsNothing) {
  const auto path = write(spec());
  ::testing::internal::CaptureStderr();
  selected(ReportCommand::Kind::summary, path, {.pids = {8}, .cpus = {0}});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ::testing::internal::CaptureStderr();
  selected(ReportCommand::Kind::summary, path,
           {.pids = {8}, .comms = {"nobody"}, .cpus = {0}, .where = {"bytes_req > 5000"}});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "ktracectl: no event is selected by --comm nobody (no task has this name) --where "
            "'bytes_req > 5000' "
            "('bytes_req' is a field of kmalloc, kmem_cache_alloc)\n");
  EXPECT_TRUE(result_);
}

TEST_F(ReportEvents, NamesTimesWithoutAnyEvent) {
  ReportCommand report = command(ReportCommand::Kind::summary, {write(spec())});
  report.times.since = *parse_time_point("1.3");
  report.times.until = *parse_time_point("1.4");
  ::testing::internal::CaptureStderr();
  run(report, true);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "ktracectl: no event is selected by --since 1.3 --until 1.4\n");
  report.times.until = *parse_time_point("3");
  report.selection.pids = {77};
  ::testing::internal::CaptureStderr();
  run(report, true);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "ktracectl: no event is selected by --pid 77 (no process or thread has this id) within "
            "--since 1.3 --until 3\n");
}

TEST_F(ReportEvents, OfAnUnfinishedTraceAreThoseThatItHas) {
  ReportCommand report = command(ReportCommand::Kind::summary,
                                 {begin_trace(directory_.path() / "u", spec())->keep_unfinished()});
  report.partial = true;
  run(report, true);
  ASSERT_TRUE(result_) << result_.error().message;
  const json made = json::parse(out_);
  EXPECT_EQ(made["window"]["begin_ns"], kSecond);
  EXPECT_EQ(made["window"]["end_ns"], 2 * kSecond + 1) << "the last event";
  EXPECT_EQ(made["sources"][0]["kind"], "unfinished trace");
}

TEST_F(ReportEvents, AreThoseOfTheWindow) {
  const auto path = write(lossy(), [](Manifest& m) {
    m.cpus[0].events["kfree"].overwritten = 5;
    m.cpus[0].first_ns = kSecond;
  });
  ReportCommand report = command(ReportCommand::Kind::kmem, {path});
  report.times.since = TimePoint{.kind = TimePoint::Kind::before_end, .ns = kSecond, .text = {}};
  run(report, true);
  json made = json::parse(out_);
  EXPECT_EQ(made["window"]["begin_ns"], 2 * kSecond);
  EXPECT_EQ(made["window"]["end_ns"], 3 * kSecond);
  EXPECT_EQ(made["types"]["kmalloc"]["count"], 0) << "they were allocated before";
  EXPECT_EQ(made["types"]["kmalloc"]["frees"]["unknown"], 2);
  EXPECT_EQ(made["caveats"], json::array()) << "nothing in the window was overwritten";
  report.times.since->ns = 2 * kSecond;
  run(report, true);
  EXPECT_EQ(json::parse(out_)["types"]["kmalloc"]["count"], 2);
  report.times.since->kind = TimePoint::Kind::boot;
  report.times.since->ns = 9 * kSecond;
  run(report, true);
  ASSERT_FALSE(result_);
  EXPECT_THAT(result_.error().message,
              HasSubstr("is after the end of the trace, which has 1.000000 "
                        "to 3.000000 after boot (20"));
}

// Calls of two threads: one moves to another CPU, one fails, one does not return.
class SelectedCalls : public ReportEvents {
 protected:
  static Bytes enter(uint64_t ts, uint32_t tid, s32 nr) {
    return make_record(EVENT_sys_enter, ts, tid, rec_sys_enter{.nr = nr});
  }
  static Bytes leave(uint64_t ts, uint32_t tid, s32 nr, s64 ret) {
    return make_record(EVENT_sys_exit, ts, tid, rec_sys_exit{.nr = nr, .ret = ret});
  }
  json calls(SelectionArgs selection) {
    TraceSpec spec = this->spec();
    spec.packets = {
        {.cpu = 0,
         .records = {enter(kSecond, 8, kOpenat), leave(kSecond + 30, 9, kRead, 5),
                     enter(kSecond + 60, 8, kRead)}},
        {.cpu = 1,
         .records = {enter(kSecond + 10, 9, kRead), leave(kSecond + 50, 8, kOpenat, -ENOENT)}}};
    return selected(ReportCommand::Kind::syscalls, path_of(spec), std::move(selection));
  }
  static constexpr s32 kOpenat = 257, kRead = 0;
};

TEST_F(SelectedCalls, AreSelectedByTheirReturnAndStillTimed) {
  const json report = calls({.errors = {"ENOENT"}});
  ASSERT_EQ(report["calls"]["of"], 1);
  EXPECT_EQ(report["calls"]["rows"][0]["syscall"], "openat");
  EXPECT_EQ(report["calls"]["rows"][0]["time"]["total_ns"], 50);
  EXPECT_EQ(report["begun_before"], 0);
  EXPECT_EQ(report["running"], 0) << "what has not returned has not failed";
}

TEST_F(SelectedCalls, MeetEachConditionByTheirBeginningOrEnd) {
  EXPECT_EQ(calls({.cpus = {0}, .errors = {"any"}})["calls"]["of"], 1)
      << "it begins on CPU 0 and fails on CPU 1";
  EXPECT_EQ(calls({.tids = {9}, .errors = {"any"}})["calls"]["of"], 0);
}

TEST_F(SelectedCalls, OfWhichNoneMeetsAllConditionsMeetThemNotTogether) {
  const auto message_of = [this](SelectionArgs selection) {
    ::testing::internal::CaptureStderr();
    calls(std::move(selection));
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(message_of({.tids = {9}, .errors = {"any"}}),
              HasSubstr("ktracectl: no event is selected by --tid 9 --error any together\n"));
  EXPECT_THAT(message_of({.cpus = {0}, .errors = {"any"}}), Not(HasSubstr("selected")))
      << "no record meets both, but a call does";
}

TEST_F(SelectedCalls, OfAThreadIncludeTheRunningOne) {
  const json report = calls({.tids = {8}});
  EXPECT_EQ(report["calls"]["of"], 1);
  EXPECT_EQ(report["running"], 1);
  EXPECT_EQ(calls({.tids = {9}})["running"], 0);
  EXPECT_EQ(calls({.syscalls = {"read"}})["running"], 1);
}

// CPU 0 runs thread 8 for 20 ns, then 9 for 30 ns, which waited for 25 ns, then 8 to the end.
class SelectedRuns : public ReportEvents {
 protected:
  static Bytes change(uint64_t ts, s32 from, s32 to) {
    return make_record(EVENT_sched_switch, ts, static_cast<uint32_t>(from),
                       rec_sched_switch{.prev_pid = from, .prev_state = 1, .next_pid = to});
  }
  json runs(SelectionArgs selection) {
    TraceSpec spec = this->spec();
    spec.packets = {
        {.cpu = 0,
         .records = {change(kSecond, 0, 8), change(kSecond + 20, 8, 9),
                     change(kSecond + 50, 9, 8)}},
        {.cpu = 1,
         .records = {make_record(EVENT_sched_wakeup, kSecond - 5, 7, rec_sched_wakeup{.pid = 9})}}};
    spec.begin_ns = kSecond - 5;
    spec.end_ns = kSecond + 60;
    return selected(ReportCommand::Kind::sched, path_of(spec), std::move(selection));
  }
};

TEST_F(SelectedRuns, AreThoseOfTheThread) {
  const json report = runs({.tids = {9}});
  ASSERT_EQ(report["threads"]["of"], 1);
  const json& row = report["threads"]["rows"][0];
  EXPECT_EQ(row["tid"], 9);
  EXPECT_EQ(row["on_cpu_ns"], 30);
  EXPECT_EQ(row["switched_in"], 1);
  EXPECT_EQ(row["slept"], 1);
  EXPECT_EQ(report["longest"][0]["ns"], 25);
  EXPECT_EQ(report["longest"][0]["instead"]["tid"], 8) << "which is not selected";
  EXPECT_EQ(report["cpus"][0]["busy_ns"], 60) << "a CPU is summed up over all threads";
  EXPECT_EQ(runs({.tids = {8}})["threads"]["rows"][0]["on_cpu_ns"], 30);
}

TEST_F(SelectedRuns, AreThoseOnTheCpu) {
  EXPECT_EQ(runs({.cpus = {0}})["threads"]["of"], 2);
  const json report = runs({.cpus = {1}});
  EXPECT_EQ(report["threads"]["of"], 0);
  EXPECT_EQ(report["cpus"], json::array());
}

TEST_F(SelectedRuns, AreSelectedByTheSwitchThatEndsThem) {
  const json report = runs({.where = {"next_pid == 9"}});
  for (const json& row : report["threads"]["rows"])
    EXPECT_EQ(row["on_cpu_ns"], row["tid"] == 8 ? 20 : 0);
}

}  // namespace
}  // namespace ktraced::test
