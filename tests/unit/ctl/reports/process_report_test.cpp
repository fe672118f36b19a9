// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/process_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/metadata/lost_names.h"
#include "unit/ctl/reports/report_fixture.h"
#include "unit/support/lines.h"

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = ReportCommand::Kind;

class ProcessReportTest : public ReportTest {
 protected:
  // sh (8) starts make (9), which starts cc (10); sh ends cc by a signal.
  std::string family() {
    constexpr uint64_t kStart = kSecond;
    return write(
        {.schema = built_schema(),
         .packets = {{.records = {forked(kStart, 8, 9), forked(kStart + 1000, 9, 10),
                                  make_record(EVENT_signal_generate, kStart + 2000, 8,
                                              rec_signal_generate{.sig = 15, .pid = 10}),
                                  ended(kStart + 3000, 10, 15), ended(kStart + 4000, 9, 2 << 8)}}},
         .names = {task_name(8, 1, 8, "sh", 5), task_name(9, kStart, 9, "make", kStart),
                   task_name(10, kStart + 1000, 10, "cc,\"1\"", kStart + 1000)},
         .begin_ns = kStart,
         .end_ns = 2 * kSecond});
  }
  std::vector<std::string> lines() const { return lines_of(out_); }
};

TEST_F(ProcessReportTest, HasOriginsAndEnds) {
  const json report = this->report(Kind::processes, {family()});
  std::map<std::string, json> rows;
  for (const json& row : report["processes"]["rows"]) rows[row["comm"]] = row;
  ASSERT_EQ(rows.size(), 3U);
  const json& cc = rows["cc,\"1\""];
  EXPECT_EQ(cc["parent"], (json{{"pid", 9}, {"comm", "make"}}));
  EXPECT_EQ(cc["lifetime_ns"], 2000);
  EXPECT_EQ(cc["end"]["how"], "killed");
  EXPECT_EQ(cc["end"]["signal"]["name"], "SIGTERM");
  EXPECT_EQ(cc["end"]["signal"]["from"], (json{{"pid", 8}, {"comm", "sh"}}));
  EXPECT_EQ(rows["make"]["end"], (json{{"how", "exited"}, {"status", 2}, {"ts", kSecond + 4000}}));
  EXPECT_EQ(rows["sh"]["end"], (json{{"how", "running"}}));
  EXPECT_EQ(rows["sh"]["lifetime_ns"], 2 * kSecond - 5) << "so far";
  EXPECT_TRUE(rows["sh"]["parent"].is_null());
  EXPECT_TRUE(rows["sh"]["cpu_ns"].is_null()) << "there is no sched_switch";
}

TEST_F(ProcessReportTest, SaysThatCommandLinesMayBeMissing) {
  TraceSpec spec{
      .schema = built_schema(),
      .packets = {{.records = {ended(kSecond, 8, 0)}}},
      .names = {task_name(8, 1, 8, "sh", 5)},
      .begin_ns = kSecond,
      .end_ns = 2 * kSecond,
  };
  const json all = this->report(Kind::processes, {write(spec, {}, "all")});
  EXPECT_THAT(all["caveats"].get<std::vector<std::string>>(),
              ::testing::Not(::testing::Contains(HasSubstr("command lines"))));
  spec.names.push_back(unread_commands_record());
  const json report = this->report(Kind::processes, {write(spec, {}, "some")});
  EXPECT_THAT(
      report["caveats"].get<std::vector<std::string>>(),
      ::testing::Contains("command lines of processes may be missing: they were not read in time"));
  EXPECT_EQ(report["sources"][0]["complete"], true) << "no event is missing";
}

TEST_F(ProcessReportTest, ShowsATree) {
  ReportCommand command = this->command(Kind::processes, {family()});
  command.tree = true;
  run(command, false);
  EXPECT_THAT(lines(), ::testing::IsSupersetOf({HasSubstr("  8  sh "), HasSubstr("  9    make "),
                                                HasSubstr(" 10      cc,\"1\"  make 9 ")}));
  EXPECT_THAT(out_, HasSubstr("SIGTERM by sh 8"));
  EXPECT_THAT(out_, HasSubstr("exit 2"));
}

TEST_F(ProcessReportTest, SelectsProcessesByTheirEvents) {
  ReportCommand command = this->command(Kind::processes, {family()});
  command.selection.comms = {"make"};
  run(command, true);
  const json rows = json::parse(out_)["processes"]["rows"];
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["pid"], 9);
}

TEST_F(ProcessReportTest, DoesNotKnowEndsThatTheSelectionLeavesOut) {
  ReportCommand command = this->command(Kind::processes, {family()});
  command.selection.events = {"sched_process_fork"};
  run(command, true);
  const json rows = json::parse(out_)["processes"]["rows"];
  ASSERT_EQ(rows.size(), 3U);
  for (const json& row : rows) {
    EXPECT_EQ(row["end"],
              (json{{"how", "unknown"}, {"because", "--event leaves out sched_process_exit"}}));
    EXPECT_NE(row["lifetime_ns"], kSecond) << "up to its last event, not to the end of the trace";
  }
  run(command, false);
  EXPECT_THAT(out_, HasSubstr("it is not known whether processes marked with ? have ended: --event "
                              "leaves out sched_process_exit"));
}

TEST_F(ProcessReportTest, NamesContainersAndPods) {
  const std::string id(64, 'a'), uid = "11111111-2222-3333-4444-555555555555";
  const std::string pods = "/kubepods.slice/kubepods-pod11111111_2222_3333_4444_555555555555.slice";
  const std::string path =
      write({.schema = built_schema(),
             .packets = {{.records = {forked(kSecond, 8, 9), forked(kSecond + 1000, 8, 10)}}},
             .names = {task_name(8, 1, 8, "sh", 5), task_in_cgroup(9, kSecond, 9, 11),
                       task_in_cgroup(10, kSecond + 1000, 10, 12), cgroup_path(12, "/a.slice"),
                       cgroup_path(11, pods + "/cri-containerd-" + id + ".scope")},
             .begin_ns = kSecond,
             .end_ns = 2 * kSecond},
            {}, "pods");
  std::map<uint32_t, json> rows;
  const json report = this->report(Kind::processes, {path});
  for (const json& row : report["processes"]["rows"]) rows[row["pid"]] = row;
  EXPECT_EQ(rows[9]["container"], id);
  EXPECT_EQ(rows[9]["pod"], uid);
  EXPECT_EQ(rows[10]["cgroup"], "/a.slice");
  EXPECT_EQ(rows[9]["cgroup_id"], 11);
  EXPECT_EQ(rows[10]["cgroup_id"], 12);
  EXPECT_TRUE(rows[8]["cgroup_id"].is_null());
  EXPECT_TRUE(rows[10]["container"].is_null());
  EXPECT_TRUE(rows[8]["pod"].is_null());
  const std::string shown = text(Kind::processes, path);
  EXPECT_THAT(shown, ::testing::ContainsRegex("END +CGROUP +PROGRAM"));
  EXPECT_THAT(shown, HasSubstr("  containerd aaaaaaaaaaaa\n"));
  EXPECT_THAT(shown, HasSubstr("  /a.slice\n"));
  EXPECT_THAT(text(Kind::processes, family()), ::testing::Not(HasSubstr("CGROUP")));
}

TEST_F(ProcessReportTest, PrintsCommaSeparatedValues) {
  ReportCommand command = this->command(Kind::processes, {family()});
  command.csv = true;
  command.by = "start";
  run(command, false);
  ASSERT_EQ(lines().size(), 4U);
  EXPECT_EQ(
      lines()[0],
      "pid,tid,comm,start_ns,depth,parent.pid,parent.comm,uid,forked,lifetime_ns,cpu_ns,"
      "uncertain,threads,execs,program,argv,cgroup,cgroup_id,container,pod,end.how,end.ts,end."
      "status,end.signal.name,end.signal.from,end.signal.from.pid,end.signal.from.comm,end."
      "because");
  EXPECT_EQ(
      lines()[3],
      "10,,\"cc,\"\"1\"\"\",1000001000,,9,make,1000,true,2000,,0,1,0,,,,,,,killed,1000003000,,"
      "SIGTERM,,8,sh,");
}

TEST_F(ProcessReportTest, PrintsOtherTablesOnRequest) {
  ReportCommand command = this->command(Kind::summary, {family()});
  command.csv = true;
  command.table = "events";
  run(command, false);
  EXPECT_THAT(lines(),
              ElementsAre("event,events,lost,missed,overwritten", "sched_process_exit,2,0,0,0",
                          "sched_process_fork,2,0,0,0", "signal_generate,1,0,0,0"));
  command.table = "cpus";
  run(command, false);
  EXPECT_EQ(lines()[0], "cpu,events,lost,first_ns,last_ns");
  command.table = "people";
  run(command, false);
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().message,
            "unknown table 'people'; there are events, cpus, processes, stacks");
  command.table = "";
  run(command, true);
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::usage);
}

}  // namespace
}  // namespace ktraced::test
