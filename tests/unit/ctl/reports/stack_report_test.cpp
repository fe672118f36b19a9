// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/stack_reports.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "unit/ctl/reports/report_fixture.h"
#include "unit/support/shapes.h"
#include "unit/support/stacked_trace.h"

namespace ktraced::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

class StackReport : public ReportTest {
 protected:
  StackReport() { path_ = write(stacked_trace()); }
  ReportCommand of(ReportCommand::Kind kind) { return command(kind, {path_}); }
  json json_of(const ReportCommand& command) {
    run(command, true);
    EXPECT_TRUE(result_);
    return json::parse(out_);
  }
  // The lines of a tree: a blank for each level, the function, its total and its own part.
  static std::string tree_of(const json& report) {
    std::string out;
    for (const json& row : report["tree"]["rows"])
      out += fmt::format("{}{} {} {}\n", std::string(row["depth"].get<size_t>(), ' '),
                         row["function"].get<std::string>(), row["total"].get<uint64_t>(),
                         row["self"].get<uint64_t>());
    return out;
  }

  std::string path_;
};

TEST_F(StackReport, SaysWhereCpuTimeWent) {
  run(of(ReportCommand::Kind::cpu), false);
  EXPECT_TRUE(result_);
  EXPECT_THAT(out_, HasSubstr("CPUS WERE      SAMPLES   SHARE\n"
                              "user                 1  20.0 %\n"
                              "kernel               2  40.0 %\n"
                              "kernel_thread        1  20.0 %\n"
                              "idle                 1  20.0 %\n"
                              "\n"
                              "CPU  SAMPLES  USER  KERNEL  KERNEL THREAD  GUEST  IDLE\n"
                              "  0        5     1       2              1      0     1\n"
                              "\n"
                              "SELF   SHARE  TOTAL  INNERMOST FUNCTION\n"
                              "   3  75.0 %      3  ext4_read [ext4]\n"
                              "   1  25.0 %      3  [0x401000]\n"
                              "   0   0.0 %      2  [0x402000]\n"
                              "\n"
                              "SAMPLES   SHARE  SELF  STACKS\n"
                              "      3  75.0 %     0  nginx 812\n"
                              "      3  75.0 %     0    [ended early: no frame pointer]\n"
                              "      2  50.0 %     0      [0x402000]\n"
                              "      2  50.0 %     1      > [0x401000]\n"
                              "      1  25.0 %     1      > ext4_read [ext4]\n"
                              "      1  25.0 %     0      [0x401000]\n"
                              "      1  25.0 %     1      > ext4_read [ext4]\n"
                              "      1  25.0 %     0  kworker/0:1 57 (kernel thread)\n"
                              "      1  25.0 %     1    ext4_read [ext4]\n"
                              "\n"
                              "user stacks of 3 events: 0.0 % complete, 0.0 % deeper than "
                              "recorded, 100.0 % ended early\n"
                              "kernel stacks of 3 events: 100.0 % complete, 0.0 % deeper than "
                              "recorded, 0.0 % ended early\n"
                              "1 event has no user stack\n"));
}

// A tree of functions with these depths, as it is shown on a terminal.
std::string tree_text(const std::vector<std::pair<uint64_t, std::string>>& functions,
                      size_t columns = SIZE_MAX) {
  json rows = json::array();
  for (const auto& [depth, function] : functions)
    rows.push_back({{"depth", depth}, {"function", function}, {"total", 4}, {"self", 1}});
  const json report = {{"tree", {{"rows", rows}, {"of", rows.size()}}},
                       {"functions", {{"rows", json::array()}, {"of", 0}}},
                       {"stacks", {{"total", 4}}}};
  return stack_trees_text(report, {}, Colours(false, columns));
}

TEST(StackTreeText, IndentsAChainOnce) {
  EXPECT_EQ(tree_text({{0, "nginx 812"},
                       {1, "main"},
                       {2, "loop"},
                       {3, "handle"},
                       {4, "parse"},
                       {5, "next"},
                       {5, "peek"},
                       {6, "read"},
                       {4, "answer"},
                       {0, "idle 7"}}),
            "SAMPLES    SHARE  SELF  STACKS\n"
            "      4  100.0 %     1  nginx 812\n"
            "      4  100.0 %     1    main\n"
            "      4  100.0 %     1    > loop\n"
            "      4  100.0 %     1    > handle\n"
            "      4  100.0 %     1        parse\n"
            "      4  100.0 %     1          next\n"
            "      4  100.0 %     1          peek\n"
            "      4  100.0 %     1          > read\n"
            "      4  100.0 %     1        answer\n"
            "      4  100.0 %     1  idle 7\n"
            "\n");
}

TEST(StackTreeText, FitsOnATerminal) {
  const std::string name = "std::vector<" + std::string(300, 'x') + ">::push_back";
  std::vector<std::pair<uint64_t, std::string>> functions = {{0, "nginx 812"}};
  for (uint64_t depth = 1; depth < 100; ++depth) {
    functions.emplace_back(depth, name);
    functions.emplace_back(depth, "beside");
  }
  std::istringstream lines(tree_text(functions, 80));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(text_columns(line), 80U);
    EXPECT_TRUE(!line.contains("std::") || line.ends_with(">::push_back")) << line;
  }
  EXPECT_THAT(tree_text(functions), HasSubstr(name)) << "in a file";
}

TEST_F(StackReport, HasSleepsOnATerminal) {
  const json report = json_of(of(ReportCommand::Kind::offcpu));
  json long_names = report;
  for (const char* side : {"/waits/rows/0/stack/0", "/waits/rows/0/waker/stack/0"})
    long_names[json::json_pointer(side)] = std::string(300, 'x') + "::sleep";
  std::istringstream lines(off_cpu_report_text(long_names, Colours(false, 100)));
  size_t shortened = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.contains("x...x")) continue;
    EXPECT_LE(text_columns(line), 100U);
    ++shortened;
  }
  EXPECT_EQ(shortened, 1U);
  EXPECT_THAT(off_cpu_report_text(long_names, Colours(false)), HasSubstr(std::string(300, 'x')));
}

TEST_F(StackReport, PutsStacksTogetherByThreadAndControlGroup) {
  ReportCommand command = of(ReportCommand::Kind::cpu);
  command.by = "thread";
  EXPECT_EQ(tree_of(json_of(command)),
            "nginx 812 2 0\n"
            " [ended early: no frame pointer] 2 0\n"
            "  [0x402000] 2 0\n"
            "   [0x401000] 2 1\n"
            "    ext4_read 1 1\n"
            "worker 813 1 0\n"
            " [ended early: no frame pointer] 1 0\n"
            "  [0x401000] 1 0\n"
            "   ext4_read 1 1\n"
            "kworker/0:1 57 (kernel thread) 1 0\n"
            " ext4_read 1 1\n");
  command.by = "cgroup";
  const json report = json_of(command);
  EXPECT_EQ(report["stacks"]["by"], "cgroup");
  EXPECT_EQ(report["tree"]["rows"][0]["owner"], (json{{"cgroup", "/nginx"}, {"cgroup_id", 7}}));
}

TEST_F(StackReport, BeginsWithTheInnermostFunctionIfAskedFor) {
  ReportCommand command = of(ReportCommand::Kind::cpu);
  command.invert = true;
  command.selection.tids = {812};
  const json report = json_of(command);
  EXPECT_TRUE(report["stacks"]["inverted"].get<bool>());
  EXPECT_EQ(tree_of(report),
            "nginx 812 2 0\n"
            " [0x401000] 1 0\n"
            "  [0x402000] 1 0\n"
            "   [ended early: no frame pointer] 1 1\n"
            " ext4_read 1 0\n"
            "  [0x401000] 1 0\n"
            "   [0x402000] 1 0\n"
            "    [ended early: no frame pointer] 1 1\n");
}

TEST_F(StackReport, KeepsTheHeaviestLinesOfATree) {
  ReportCommand command = of(ReportCommand::Kind::cpu);
  command.top = 1;
  const json report = json_of(command);
  EXPECT_EQ(report["functions"]["rows"].size(), 1U);
  EXPECT_EQ(report["tree"]["rows"].size(), 9U) << "ten lines for a row";
  EXPECT_EQ(report["tree"]["of"], 9);
}

TEST_F(StackReport, HasTheTreeAsCsv) {
  ReportCommand command = of(ReportCommand::Kind::kmem);
  command.stacks = true;
  command.csv = true;
  run(command, false);
  EXPECT_EQ(out_,
            "depth,function,module,total,self,count,owner.pid,owner.tid,owner.comm,owner.cgroup,"
            "owner.others,file,source,line,inlined\n"
            "0,nginx 812,,512,0,1,812,,nginx,,,,,,\n"
            "1,[ended early: no frame pointer],,512,0,1,,,,,,,,,\n"
            "2,[0x402000],,512,0,1,,,,,,,,,\n"
            "3,[0x401000],,512,0,1,,,,,,,,,\n"
            "4,ext4_read,ext4,512,512,1,,,,,,,,,\n");
}

TEST_F(StackReport, SaysWhoHoldsWhat) {
  ReportCommand command = of(ReportCommand::Kind::kmem);
  command.stacks = true;
  const json held = json_of(command);
  EXPECT_EQ(held["stacks"]["unit"], "held");
  EXPECT_EQ(held["stacks"]["total"], 512);
  EXPECT_TRUE(held.contains("call_sites")) << "with the rest of the report";
  command.by = "requested";
  EXPECT_EQ(json_of(command)["stacks"]["total"], 500);
  command.by = "count";
  EXPECT_EQ(json_of(command)["stacks"]["total"], 1);
  run(command, false);
  EXPECT_THAT(out_, HasSubstr("COUNT    SHARE  SELF  STACKS\n"
                              "    1  100.0 %     0  nginx 812\n"));
}

TEST_F(StackReport, LeavesOtherReportsAsTheyAre) {
  EXPECT_FALSE(json_of(of(ReportCommand::Kind::kmem)).contains("tree"));
  run(of(ReportCommand::Kind::kmem), false);
  EXPECT_EQ(out_.find("STACKS"), std::string::npos);
  EXPECT_FALSE(json_of(of(ReportCommand::Kind::syscalls)).contains("tree"));
}

TEST_F(StackReport, SaysWhereASystemCallIsMade) {
  ReportCommand command = of(ReportCommand::Kind::syscalls);
  command.stacks = true;
  command.stacks_of = "read";
  EXPECT_EQ(tree_of(json_of(command)),
            "nginx 812 1000000 0\n"
            " [ended early: no frame pointer] 1000000 0\n"
            "  [0x402000] 1000000 0\n"
            "   [0x401000] 1000000 1000000\n");
  command.stacks_of = "write";
  EXPECT_EQ(tree_of(json_of(command)), "");
}

TEST_F(StackReport, HasSleepsBesideTheirWakers) {
  const json report = json_of(of(ReportCommand::Kind::offcpu));
  ASSERT_EQ(report["kinds"].size(), 1U);
  EXPECT_EQ(report["kinds"][0]["kind"], "interruptible");
  EXPECT_EQ(report["kinds"][0]["count"], 1);
  EXPECT_EQ(report["kinds"][0]["total_ns"], 101 * kMillisecond);
  ASSERT_EQ(report["waits"]["rows"].size(), 1U);
  const json& wait = report["waits"]["rows"][0];
  EXPECT_EQ(wait["longest_ns"], 101 * kMillisecond);
  EXPECT_EQ(wait["longest_ts"], kSecond + 50 * kMillisecond);
  EXPECT_EQ(wait["owner"]["pid"], 812);
  EXPECT_EQ(wait["stack"], (json{"schedule", "do_nanosleep", "[0x401000]", "[0x402000]",
                                 "[ended early: no frame pointer]"}));
  EXPECT_EQ(wait["waker"]["comm"], "nginx");
  EXPECT_EQ(wait["waker"]["stack"], (json{"try_to_wake_up", "hrtimer_wakeup"}));
  run(of(ReportCommand::Kind::offcpu), false);
  EXPECT_THAT(out_, HasSubstr("nginx 812, interruptible\n"
                              "  SLEEPS AT                        WOKEN BY nginx 812 AT\n"
                              "  schedule                         try_to_wake_up\n"
                              "  do_nanosleep                     hrtimer_wakeup\n"
                              "  [0x401000]\n"
                              "  [0x402000]\n"
                              "  [ended early: no frame pointer]\n"));
  EXPECT_THAT(out_, HasSubstr("kernel stacks of 1 event: 100.0 % complete"));
  EXPECT_EQ(report["stacks"]["wakers"]["without_user_stack"], 1);
  EXPECT_THAT(out_, HasSubstr("kernel stacks of the wakers of 1 sleep: 100.0 % complete"));
}

TEST_F(StackReport, SaysHowCompleteTheUserStacksOfWakersAre) {
  TraceSpec spec = stacked_trace();
  for (Bytes& record : spec.packets[1].records)
    if (RecordView(record.data()).id() == EVENT_sched_waking)
      record = with_stacks(make_record(EVENT_sched_waking, RecordView(record.data()).ts(), 813,
                                       rec_sched_waking{.pid = 812}),
                           {.kernel = kWakerStack, .user = kBrokenStack});
  path_ = write(spec, {}, "woken_by_a_process");
  run(of(ReportCommand::Kind::offcpu), false);
  EXPECT_THAT(out_, HasSubstr("user stacks of the wakers of 1 sleep: 0.0 % complete, 0.0 % deeper "
                              "than recorded, 100.0 % ended early\n"));
}

TEST_F(StackReport, SaysHowCompleteTheUserStacksOfEachTreeAre) {
  ReportCommand memory = of(ReportCommand::Kind::kmem), calls = of(ReportCommand::Kind::syscalls);
  memory.stacks = calls.stacks = true;
  calls.stacks_of = "read";
  for (const ReportCommand& command : {memory, calls, of(ReportCommand::Kind::cpu)}) {
    run(command, false);
    EXPECT_THAT(out_, HasSubstr("\nuser stacks of ")) << out_;
  }
}

// The stack of an event may be in the part of the trace that is not selected.
TEST_F(StackReport, FindsStacksOutsideTheWindow) {
  ReportCommand command = of(ReportCommand::Kind::kmem);
  command.stacks = true;
  command.times.last_s = 0.845;
  const json report = json_of(command);
  EXPECT_EQ(report["stacks"]["kernel"]["lacking"], 0);
  EXPECT_EQ(report["stacks"]["kernel"]["start"], 1);
}

TEST_F(StackReport, FindsMappingsOutsideTheWindow) {
  path_ = write(stacked_trace_of_file(shapes("whole.so"), kShapesId, offset_in_shapes("plain")), {},
                "of_shapes");
  ReportCommand command = of(ReportCommand::Kind::kmem);
  command.stacks = true;
  command.times.last_s = 0.845;
  EXPECT_THAT(json_of(command)["tree"].dump(), HasSubstr("\"plain\""));
}

TEST_F(StackReport, SaysThatNoEventHasAStack) {
  TraceSpec plain = stacked_trace();
  plain.packets = {{.cpu = 0, .records = {sample_of(kSecond, 812, SAMPLE_USER)}}};
  path_ = write(plain, {}, "plain");
  run(of(ReportCommand::Kind::cpu), false);
  EXPECT_THAT(out_, HasSubstr("no event has a stack: 'sampling' in the configuration says which "
                              "stacks samples take\n"));
}

TEST_F(StackReport, NamesTheFunctionsOfProcesses) {
  path_ = write(stacked_trace_of_file(shapes("whole.so"), kShapesId, offset_in_shapes("plain")), {},
                "of_shapes");
  ReportCommand command = of(ReportCommand::Kind::cpu);
  command.selection.tids = {812};
  const json report = json_of(command);
  const std::string outer = fmt::format("whole.so+{:#x}", offset_in_shapes("plain") + 0x1000);
  EXPECT_EQ(tree_of(report), fmt::format("nginx 812 2 0\n"
                                         " [ended early: no frame pointer] 2 0\n"
                                         "  {} 2 0\n"
                                         "   plain 2 1\n"
                                         "    ext4_read 1 1\n",
                                         outer));
  const json& plain = report["tree"]["rows"][3];
  EXPECT_EQ(plain["module"], "whole.so");
  EXPECT_EQ(plain["file"], shapes("whole.so").string());
  EXPECT_FALSE(plain.contains("source"));
  EXPECT_THAT(report["caveats"].dump(), ::testing::Not(HasSubstr("cannot")));
  run(command, false);
  EXPECT_THAT(out_, HasSubstr("plain [whole.so]\n"));

  command.frames.lines = true;
  const json with_lines = json_of(command);
  EXPECT_THAT(with_lines["tree"]["rows"][3]["source"].get<std::string>(), EndsWith("shapes.cpp"));
  run(command, false);
  EXPECT_THAT(out_, HasSubstr("plain [whole.so] at shapes.cpp:"));
}

TEST_F(StackReport, NamesNothingByAnotherFile) {
  path_ = write(stacked_trace_of_file(shapes("whole.so"), "ffff", offset_in_shapes("plain")), {},
                "of_another");
  for (const auto kind : {ReportCommand::Kind::cpu, ReportCommand::Kind::offcpu}) {
    const json report = json_of(of(kind));
    EXPECT_THAT(report["tree"].dump(), ::testing::Not(HasSubstr("plain")));
    EXPECT_THAT(report["caveats"].dump(), HasSubstr("it is another file now"));
  }
  run(of(ReportCommand::Kind::cpu), false);
  EXPECT_THAT(out_, HasSubstr("it is another file now"));
  ReportCommand csv = of(ReportCommand::Kind::cpu);
  csv.csv = true;
  ::testing::internal::CaptureStderr();
  run(csv, false);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("it is another file now"));
}

TEST_F(StackReport, EachSaysHowManyUserStacksAreComplete) {
  ReportCommand kmem = of(ReportCommand::Kind::kmem), calls = of(ReportCommand::Kind::syscalls);
  kmem.stacks = calls.stacks = true;
  calls.stacks_of = "read";
  for (const ReportCommand& command :
       {of(ReportCommand::Kind::cpu), of(ReportCommand::Kind::offcpu), kmem, calls}) {
    run(command, false);
    EXPECT_THAT(out_, ::testing::ContainsRegex("user stacks of [0-9]+ events?: .* complete"));
  }
}

}  // namespace
}  // namespace ktraced::test
