// SPDX-License-Identifier: BSD-2-Clause
// Reports with --event.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/ctl/reports/report_fixture.h"

namespace ktraced::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ReportEvents : public ReportTest {
 protected:
  // As spec(), with losses of two events.
  static TraceSpec lossy() {
    TraceSpec lossy = spec();
    lossy.packets[1].lost = {{.count = 5, .event_id = EVENT_sys_enter},
                             {.count = 3, .event_id = EVENT_kfree}};
    return lossy;
  }
  json chosen(ReportCommand::Kind kind, const std::string& path, std::vector<std::string> events) {
    ReportCommand report = command(kind, {path});
    report.events = std::move(events);
    run(report, true);
    return out_.empty() ? json() : json::parse(out_);
  }
};

TEST_F(ReportEvents, SummaryCountsOnlyChosenEvents) {
  const auto path = write(lossy(), [](Manifest& m) { m.missed = {{"kfree", 2}, {"kmalloc", 4}}; });
  const json report = chosen(ReportCommand::Kind::summary, path, {"kf*"});
  EXPECT_EQ(report["events"],
            json::parse(R"({"kfree":{"events":2,"lost":3,"missed":2,"overwritten":0}})"));
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
            "sched_process_exec, sched_process_exit");
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

}  // namespace
}  // namespace ktraced::test
