// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/command_line/view_command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/ctl/command_line/command_line_fixture.h"

namespace ktraced {
namespace {

using namespace command_line_test;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CommandLine, Show) {
  auto show = command<ShowCommand>({"show", "/a", "/b", "--format", "json", "--event", "kmalloc",
                                    "--duration", "1.5", "--partial"});
  EXPECT_THAT(show.directories, ElementsAre("/a", "/b"));
  EXPECT_EQ(show.format, OutputFormat::json);
  EXPECT_THAT(show.selection.events, ElementsAre("kmalloc"));
  EXPECT_EQ(show.duration_s, 1.5);
  EXPECT_TRUE(show.partial);
  EXPECT_THAT(usage_error({"show"}), HasSubstr("DIR"));
  EXPECT_FALSE(show.stacks);
  EXPECT_TRUE(command<ShowCommand>({"show", "/a", "--stacks"}).stacks);
  EXPECT_THAT(usage_error({"show", "/a", "--stacks", "--format", "process"}),
              HasSubstr("--stacks belongs to --format ftrace and json"));
}

TEST(CommandLine, ReportsOnStacks) {
  auto cpu = command<ReportCommand>({"report", "cpu", "/a", "--by", "cgroup", "--invert"});
  EXPECT_EQ(cpu.kind, ReportCommand::Kind::cpu);
  EXPECT_EQ(cpu.by, "cgroup");
  EXPECT_TRUE(cpu.invert);
  EXPECT_EQ(command<ReportCommand>({"report", "offcpu", "/a"}).kind, ReportCommand::Kind::offcpu);
  EXPECT_THAT(usage_error({"report", "offcpu", "/a", "--by", "waste"}),
              HasSubstr("process, thread"));
  auto kmem = command<ReportCommand>({"report", "kmem", "/a", "--stacks", "--by", "thread"});
  EXPECT_TRUE(kmem.stacks);
  EXPECT_EQ(kmem.by, "thread");
  auto calls = command<ReportCommand>({"report", "syscalls", "/a", "--stacks", "fsync"});
  EXPECT_TRUE(calls.stacks);
  EXPECT_EQ(calls.stacks_of, "fsync");
  EXPECT_THAT(usage_error({"report", "syscalls", "/a", "--stacks", "fsynk"}), HasSubstr("fsync"));
  EXPECT_THAT(usage_error({"report", "kmem", "/a", "--by", "thread"}), HasSubstr("needs --stacks"));
  EXPECT_THAT(usage_error({"report", "kmem", "/a", "--invert"}), HasSubstr("needs --stacks"));
  EXPECT_THAT(usage_error({"report", "kmem", "/a", "--csv", "--table", "tree"}),
              HasSubstr("needs --stacks"));
  EXPECT_THAT(usage_error({"report", "sched", "/a", "--stacks"}), HasSubstr("--stacks"));
}

TEST(CommandLine, LooksUpLinesAndDebugFilesOfFrames) {
  const auto show = command<ShowCommand>({"show", "/a", "--stacks", "--lines", "--debuginfod"});
  EXPECT_TRUE(show.frames.lines);
  EXPECT_TRUE(show.frames.debuginfod);
  EXPECT_FALSE(command<ShowCommand>({"show", "/a", "--stacks"}).frames.lines);
  EXPECT_TRUE(command<ReportCommand>({"report", "cpu", "/a", "--lines"}).frames.lines);
  EXPECT_TRUE(
      command<ReportCommand>({"report", "offcpu", "--live", "--debuginfod"}).frames.debuginfod);
  EXPECT_TRUE(command<HtmlCommand>({"report", "html", "/a", "-o", "b", "--lines"}).frames.lines);
  for (const char* form : {"perfetto", "folded"})
    EXPECT_TRUE(
        command<ExportCommand>({"export", "/a", "--to", form, "-o", "b", "--lines"}).frames.lines);
  EXPECT_TRUE(command<QueryCommand>({"query", "/a", "SELECT 1", "--lines"}).frames.lines);
  EXPECT_THAT(usage_error({"show", "/a", "--lines"}), HasSubstr("--lines needs --stacks"));
  EXPECT_THAT(usage_error({"report", "kmem", "/a", "--debuginfod"}),
              HasSubstr("--debuginfod needs --stacks"));
  EXPECT_THAT(usage_error({"export", "/a", "--to", "json", "-o", "b", "--lines"}),
              HasSubstr("--lines needs --to perfetto or --to folded"));
  EXPECT_THAT(usage_error({"report", "sched", "/a", "--lines"}), HasSubstr("--lines"));
}

TEST(CommandLine, Query) {
  auto query =
      command<QueryCommand>({"query", "/a", "/b", "SELECT 1", "--csv", "--memory-mb", "64"});
  EXPECT_THAT(query.directories, ElementsAre("/a", "/b"));
  EXPECT_EQ(query.sql, "SELECT 1");
  EXPECT_TRUE(query.csv);
  EXPECT_EQ(query.memory_mb, 64U);
  query = command<QueryCommand>({"query", "/a", "--shell"});
  EXPECT_THAT(query.directories, ElementsAre("/a"));
  EXPECT_TRUE(query.shell);
  for (const std::vector<const char*>& words :
       {std::vector<const char*>{"query", "SELECT 1", "/a"}, {"query", "/a", "select 1", "/b"}})
    EXPECT_THAT(usage_error(words), HasSubstr("the SQL stands behind the trace directories"));
  EXPECT_THAT(usage_error({"query", "/a"}),
              HasSubstr("query needs DIR, a trace directory, and then SQL"));
  for (const char* empty : {"", " \n", ";"})
    EXPECT_THAT(usage_error({"query", "/a", empty}), HasSubstr("the SQL of the query is empty"));
}

TEST(CommandLine, QueryWithoutATraceNamesTheCommandsThatSaveOne) {
  for (const std::vector<const char*>& words : {std::vector<const char*>{"query"},
                                                {"query", "SELECT 1"},
                                                {"query", ".tables"},
                                                {"query", "--shell"}})
    EXPECT_EQ(usage_error(words),
              "ktracectl: query needs DIR, a trace directory or the name of a snapshot, before the "
              "SQL; 'ktracectl snapshot take NAME' saves what the flight recorder holds, "
              "'ktracectl record -o DIR --duration 2s' what happens from now on; see 'ktracectl "
              "help query'\n");
}

TEST(CommandLine, Export) {
  auto exported = command<ExportCommand>(
      {"export", "/a", "/b", "--to", "json", "-o", "-", "--event", "sched,kmalloc", "--partial"});
  EXPECT_EQ(exported.form, ExportCommand::Form::json);
  EXPECT_THAT(exported.directories, ElementsAre("/a", "/b"));
  EXPECT_EQ(exported.output, "-");
  EXPECT_THAT(exported.selection.events, ElementsAre("sched", "kmalloc"));
  EXPECT_TRUE(exported.partial);
  EXPECT_EQ(command<ExportCommand>({"export", "/a", "--to", "trace.dat", "-o", "x"}).form,
            ExportCommand::Form::trace_dat);
  EXPECT_EQ(command<ExportCommand>({"export", "/a", "--to", "folded", "-o", "x"}).form,
            ExportCommand::Form::folded);
  EXPECT_THAT(usage_error({"export", "/a", "--to", "chrome", "-o", "x"}),
              HasSubstr("unknown form 'chrome'; there are perfetto, trace.dat, json and folded"));
  EXPECT_THAT(usage_error({"export", "/a", "-o", "x"}), HasSubstr("--to FORM is missing"));
  EXPECT_THAT(usage_error({"export", "/a", "--to", "json"}), HasSubstr("--output FILE is missing"));
}

TEST(CommandLine, Report) {
  auto summary = command<ReportCommand>({"report", "summary", "/a", "/b"});
  EXPECT_EQ(summary.kind, ReportCommand::Kind::summary);
  EXPECT_THAT(summary.directories, ElementsAre("/a", "/b"));
  EXPECT_EQ(summary.top, 10U);
  auto kmem = command<ReportCommand>({"report", "kmem", "/a", "--top", "3", "--by", "waste"});
  EXPECT_EQ(kmem.kind, ReportCommand::Kind::kmem);
  EXPECT_EQ(kmem.top, 3U);
  EXPECT_EQ(kmem.by, "waste");
  EXPECT_EQ(command<ReportCommand>({"report", "sched", "/a", "--by", "delay"}).by, "delay");
  EXPECT_EQ(command<ReportCommand>({"report", "syscalls", "/a", "--by", "errors"}).kind,
            ReportCommand::Kind::syscalls);
  auto html = command<HtmlCommand>({"report", "html", "/a", "/b", "-o", "page.html", "--top", "5"});
  EXPECT_THAT(html.directories, ElementsAre("/a", "/b"));
  EXPECT_EQ(html.output, "page.html");
  EXPECT_EQ(html.top, 5U);
  EXPECT_THAT(usage_error({"report", "html", "/a"}), HasSubstr("--output"));
  EXPECT_THAT(usage_error({"report", "html", "-o", "page.html"}), HasSubstr("DIR"));
  EXPECT_THAT(usage_error({"report"}),
              HasSubstr("report needs one of summary, processes, files, "
                        "kmem, sched, syscalls, wakeups, cpu, offcpu, html; see "
                        "'ktracectl help report'"));
  EXPECT_THAT(usage_error({"report", "kmem"}),
              HasSubstr("report kmem needs DIR, a trace directory, or --live"));
  auto live = command<ReportCommand>({"report", "kmem", "--live", "--duration", "2"});
  EXPECT_TRUE(live.live);
  EXPECT_THAT(command<ReportCommand>(
                  {"report", "summary", "/a", "--event", "sched_*,kmem", "--event", "kfree"})
                  .selection.events,
              ElementsAre("sched_*", "kmem", "kfree"));
  EXPECT_THAT(command<HtmlCommand>({"report", "html", "/a", "-o", "x", "--event", "sched"})
                  .selection.events,
              ElementsAre("sched"));
  EXPECT_EQ(live.duration_s, 2);
  EXPECT_EQ(command<ReportCommand>({"report", "sched", "--live", "--interval", "500ms"}).interval_s,
            0.5);
  EXPECT_THAT(usage_error({"report", "sched", "/a", "--interval", "1s"}), HasSubstr("--live"));
  usage_error({"report", "kmem", "/a", "--live"});
  EXPECT_THAT(usage_error({"report", "kmem", "/a", "--duration", "2"}), HasSubstr("--live"));
  EXPECT_THAT(
      usage_error({"report", "kmem", "/a", "--by", "colour"}),
      HasSubstr(
          "unknown sort key 'colour'; there are given, requested, count, waste, held, elsewhere"));
  EXPECT_EQ(command<ReportCommand>({"report", "summary", "/a", "--by", "lost"}).by, "lost");
  EXPECT_THAT(
      usage_error({"report", "summary", "/a", "--by", "colour"}),
      HasSubstr("unknown sort key 'colour'; there are events, name, lost, missed, overwritten"));
  EXPECT_THAT(usage_error({"report", "kmem", "/a", "--top", "0"}), HasSubstr("above 0"));
  EXPECT_THAT(usage_error({"report", "kmem", "/a", "--top", "al"}),
              HasSubstr("'al' is not a number above 0, nor 'all'"));
  EXPECT_EQ(command<ReportCommand>({"report", "kmem", "/a", "--top", "all"}).top,
            ReportCommand::kAllRows);
}

TEST(CommandLine, ReportTables) {
  const auto sched =
      command<ReportCommand>({"report", "sched", "/a", "--csv", "--table", "longest"});
  EXPECT_TRUE(sched.csv);
  EXPECT_EQ(sched.table, "longest");
  EXPECT_THAT(usage_error({"report", "sched", "/a", "--csv", "--table", "longst"}),
              HasSubstr("unknown table 'longst'; did you mean 'longest'?"));
  EXPECT_THAT(usage_error({"report", "sched", "/a", "--table", "cpus"}), HasSubstr("--csv"));
}

TEST(CommandLine, ReportFiles) {
  const auto files = command<ReportCommand>({"report", "files", "/a", "--by", "opens"});
  EXPECT_EQ(files.kind, ReportCommand::Kind::files);
  EXPECT_EQ(files.by, "opens");
  EXPECT_THAT(usage_error({"report", "files", "/a", "--by", "open"}),
              HasSubstr("unknown sort key 'open'; did you mean 'opens'?"));
}

TEST(CommandLine, ReportProcessesAndWakeups) {
  EXPECT_TRUE(command<ReportCommand>({"report", "processes", "/a", "--tree"}).tree);
  usage_error({"report", "sched", "/a", "--tree"});
  const auto wakeups = command<ReportCommand>({"report", "wakeups", "nginx*", "/a", "/b"});
  EXPECT_EQ(wakeups.kind, ReportCommand::Kind::wakeups);
  EXPECT_EQ(wakeups.who, "nginx*");
  EXPECT_THAT(wakeups.directories, ElementsAre("/a", "/b"));
  for (const char* who : {"812", "12345678901234567", "*", "kworker/R-kvfree_rcu_reclaim"})
    EXPECT_EQ(command<ReportCommand>({"report", "wakeups", who, "--live"}).who, who);
  EXPECT_THAT(usage_error({"report", "wakeups", "/a"}), HasSubstr("needs DIR"));
  const std::string trace = KTRACED_SOURCE_DIR "/tests/data/recorded/6.12-whole";
  EXPECT_THAT(usage_error({"report", "wakeups", trace.c_str(), "nginx"}),
              HasSubstr("the woken threads stand before it, 'ktracectl report wakeups WHO"));
}

TEST(CommandLine, Stream) {
  auto plain = command<StreamCommand>({"stream"});
  EXPECT_FALSE(plain.format || plain.count || plain.duration_s || plain.count_only);
  auto all = command<StreamCommand>({"stream", "--format", "json", "--event", "kmalloc,kfree",
                                     "--event", "sched", "--pid", "1,2", "--comm", "nginx*",
                                     "--count", "10", "--duration", "0.5"});
  EXPECT_EQ(all.format, OutputFormat::json);
  EXPECT_THAT(all.selection.events, ElementsAre("kmalloc", "kfree", "sched"));
  EXPECT_THAT(all.selection.pids, ElementsAre(1, 2));
  EXPECT_THAT(all.selection.comms, ElementsAre("nginx*"));
  EXPECT_EQ(all.count, 10U);
  EXPECT_EQ(all.duration_s, 0.5);
  EXPECT_TRUE(command<StreamCommand>({"stream", "--count-only", "--duration", "1"}).count_only);
  EXPECT_TRUE(command<StreamCommand>({"stream", "--count-only", "--event", "kfree"}).count_only);
  const auto session =
      command<StreamCommand>({"stream", "--cgroup", "/a,/b", "--follow", "7", "--follow", "8",
                              "--syscall", "openat", "--buffer-kb", "256", "--name", "mine"})
          .session;
  EXPECT_THAT(session.cgroups, ElementsAre("/a", "/b"));
  EXPECT_THAT(session.follow, ElementsAre(7, 8));
  EXPECT_THAT(session.syscalls, ElementsAre("openat"));
  EXPECT_EQ(session.buffer_kb, 256U);
  EXPECT_EQ(session.name, "mine");
}

TEST(CommandLine, FormatsOfStreamAndShow) {
  EXPECT_EQ(command<StreamCommand>({"stream", "--format", "kmemtrace"}).format,
            OutputFormat::kmemtrace);
  auto minimal = command<ShowCommand>({"show", "/a", "--format=kmemtrace-minimal", "--gfp-names"});
  EXPECT_EQ(minimal.format, OutputFormat::kmemtrace_minimal);
  EXPECT_TRUE(minimal.gfp_names && !minimal.names);
  auto process = command<StreamCommand>({"stream", "--names", "--format", "process"});
  EXPECT_EQ(process.format, OutputFormat::process);
  EXPECT_TRUE(process.names && !process.gfp_names);
  EXPECT_EQ(command<ShowCommand>({"show", "/a", "--no-names"}).names, false);
  EXPECT_EQ(command<ShowCommand>({"show", "/a", "--time", "iso"}).time, TimeForm::iso);
}

TEST(CommandLine, TimesOfTraces) {
  const auto show = command<ShowCommand>({"show", "/a", "--since", "-2s", "--until", "14:03:21.5"});
  EXPECT_EQ(show.times.since->kind, TimePoint::Kind::before_end);
  EXPECT_EQ(show.times.until->kind, TimePoint::Kind::of_day);
  EXPECT_EQ(command<ExportCommand>({"export", "/a", "--to", "json", "-o", "-", "--last", "1m"})
                .times.last_s,
            60);
  const auto report = command<ReportCommand>(
      {"report", "syscalls", "/a", "--since=12.5", "--tid", "8", "--error", "any"});
  EXPECT_EQ(report.times.since->ns, 12'500'000'000U);
  EXPECT_THAT(report.selection.tids, ElementsAre(8));
  EXPECT_THAT(report.selection.errors, ElementsAre("any"));
  EXPECT_EQ(command<StreamCommand>({"stream", "--until", "23:00"}).times.until->text, "23:00");
}

}  // namespace
}  // namespace ktraced
