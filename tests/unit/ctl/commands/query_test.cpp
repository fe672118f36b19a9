// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/commands/commands.h"

#include <nlohmann/json.hpp>

#include "ctl/query/result_printer.h"
#include "ctl/query/shell.h"
#include "decoders/symbols/frame_names.h"
#include "unit/ctl/query/query_fixture.h"
#include "unit/support/recorded.h"
#include "unit/support/shapes.h"
#include "unit/support/stacked_trace.h"
#include "unit/support/uneven_snapshot.h"

namespace ktraced::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Query : public QueryTest {
 protected:
  std::string run(QueryCommand command, bool as_json = false) {
    Options options;
    options.json = as_json;
    if (command.directories.empty()) {
      const auto path = directory_.path() / "trace";
      if (!std::filesystem::exists(path)) write_trace(path, spec());
      command.directories = {path};
    }
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    result_ = run_query(command, options);
    err_ = ::testing::internal::GetCapturedStderr();
    return ::testing::internal::GetCapturedStdout();
  }
  // What a shell prints for these lines.
  std::string type(const std::string& lines) {
    if (!database_) open(spec());
    ResultPrinter printer(ResultForm::csv, Colours(false), false);
    Shell shell(*database_, printer);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(
        ::fmemopen(const_cast<char*>(lines.data()), lines.size(), "r"), ::fclose);
    ::testing::internal::CaptureStdout();
    result_ = shell.run(in.get());
    return ::testing::internal::GetCapturedStdout();
  }

  Result<> result_;
  std::string err_;
};

TEST_F(Query, PrintsATable) {
  EXPECT_EQ(
      run({.sql = "SELECT ts, comm, error FROM sys_exit; SELECT 'é' AS x, X'00ff' AS b, 0.5"}),
      "  ts  comm   error\n"
      "1500  eight  ENOENT\n"
      "3400  eight  NULL\n"
      "x  b        0.5\n"
      "é  X'00ff'  0.5\n");
  EXPECT_EQ(run({.sql = "SELECT ts FROM mark_victim"}), "ts\n");
  EXPECT_EQ(run({.sql = "SELECT char(27) || '[31m' AS x"}), "x\n\\x1b[31m\n");
}

TEST_F(Query, AlignsCharactersOfTwoColumns) {
  EXPECT_EQ(run({.sql = "SELECT '\xe6\xbc\xa2' AS x, 1 AS y"}), "x   y\n\xe6\xbc\xa2  1\n");
}

// A byte of whole.so at which a function is inlined into one that is inlined too.
uint64_t inlined_byte() {
  FrameNames names({.debug_files = {.directory = "/nowhere"}, .lines = true});
  const uint64_t begin = offset_in_shapes("_ZN6shapes10hypotenuseEii");
  for (uint64_t byte = begin; byte < begin + 12; ++byte)
    if (names.at(shapes("whole.so"), kShapesId, byte).size() == 3) return byte;
  ADD_FAILURE() << "nothing is inlined";
  return begin;
}

TEST_F(Query, HasLinesAndInlinedFunctionsOfFramesOnRequest) {
  const auto path = directory_.path() / "of_shapes";
  write_trace(path, stacked_trace_of_file(shapes("whole.so"), kShapesId, inlined_byte()));
  QueryCommand command{
      .directories = {path},
      .sql =
          "SELECT depth, symbol, inlined, line > 0 AS has_line, source LIKE '%/shapes.cpp' AS "
          "has_source FROM frames f JOIN kmalloc k ON f.stack = k.user_stack AND f.pid = k.pid "
          "WHERE symbol IS NOT NULL ORDER BY depth",
      .csv = true};
  EXPECT_EQ(run(command),
            "depth,symbol,inlined,has_line,has_source\n"
            "0,\"shapes::hypotenuse(int, int)\",,,\n");
  command.frames.lines = true;
  const std::string lines = run(command);
  EXPECT_THAT(lines, HasSubstr("\n0,shapes::square(int),1,1,1\n1,"));
  EXPECT_THAT(lines, HasSubstr("\n2,\"shapes::hypotenuse(int, int)\",0,1,1\n"));
}

TEST_F(Query, SaysWhatIsMissingInTheTracesBehindTheResultOnly) {
  const std::vector<std::string> incomplete = {kRecorded / "6.12-strings"};
  EXPECT_EQ(run({.directories = incomplete, .sql = "SELECT count(*) AS losses FROM losses"}),
            "losses\n     8\n");
  EXPECT_THAT(err_, HasSubstr("incomplete: CPU 1: 1 sched_waking events were lost"));
  run({.directories = incomplete, .sql = "SELECT x"});
  ASSERT_FALSE(result_);
  EXPECT_EQ(err_, "") << "the error alone";
}

TEST_F(Query, SaysHowFarCpusReachBackAndReadsAllOfThem) {
  const std::string path = write_uneven_snapshot(directory_.path() / "uneven");
  EXPECT_EQ(run({.directories = {path}, .sql = "SELECT count(*) AS n FROM events"}), " n\n36\n");
  EXPECT_EQ(err_, "ktracectl: " + path +
                      ": snapshot of test-host, 1.000 s, 5.000 s on the CPU that reaches furthest "
                      "back, complete\n");
}

TEST_F(Query, SaysWhatCameBeforeBehindTheStateOfTheTrace) {
  TraceSpec before = spec();
  before.packets.clear();
  before.begin_ns = 1;
  before.end_ns = kSecond / 2;
  write_trace(directory_.path() / "before", before);
  const std::filesystem::path path = write_uneven_snapshot(directory_.path() / "uneven");
  auto manifest = nlohmann::json::parse(read_file(path / "manifest.json"));
  manifest.update({{"previous", "before"}, {"since_ns", before.end_ns}});
  write_file(path / "manifest.json", manifest.dump());
  run({.directories = {path}, .sql = "SELECT count(*) AS n FROM events"});
  EXPECT_THAT(err_, ::testing::MatchesRegex("ktracectl: [^\n]*: snapshot of test-host, [^\n]*\n"
                                            "ktracectl: what came before is in before: [^\n]*\n"));
}

TEST_F(Query, SaysWhichEventsOfItsTablesWereNotTraced) {
  nlohmann::json config;
  const auto said = [&](const std::string& sql) {
    const auto path = directory_.path() / "trace";
    std::filesystem::remove_all(path);
    auto writer = begin_trace(path, spec());
    Manifest manifest = manifest_of(*writer, spec());
    manifest.config = config;
    check(writer->finish(manifest, spec().symbols));
    run({.directories = {path}, .sql = sql});
    EXPECT_TRUE(result_);
    return err_;
  };
  config["events"] = {"sched_switch", "sched_wakeup", "sched_wakeup_new"};
  EXPECT_EQ(said("SELECT count(*) FROM calls; SELECT count(*) FROM waits"),
            "ktracectl: calls: sys_enter was not traced; sys_exit was not traced\n");
  EXPECT_EQ(said("SELECT count(*) FROM kfree"), "ktracectl: kfree: kfree was not traced\n");
  EXPECT_EQ(said("SELECT ts FROM kfree ORDER BY ts DESC LIMIT 1"),
            "ktracectl: kfree: kfree was not traced\n");
  EXPECT_EQ(said("SELECT count(*) FROM events"), "") << "it has whatever was traced";
  EXPECT_EQ(said("SELECT count(*) FROM threads"), "");
  EXPECT_EQ(said("SELECT tid, comm FROM threads"), "") << "it has all of these";
  EXPECT_EQ(said("SELECT end_ts FROM threads"),
            "ktracectl: threads: sched_process_exit was not traced\n");
  EXPECT_EQ(said("SELECT parent_pid, argv, argv_read_ts, exit_status FROM processes"),
            "ktracectl: processes: sched_process_fork was not traced; sched_process_exec was not "
            "traced; sched_process_exit was not traced\n");
  EXPECT_EQ(said("SELECT 1"), "");

  config["events"] = {"sys_completed"};
  EXPECT_EQ(said("SELECT count(*) FROM calls"),
            "ktracectl: calls: system calls were recorded as they returned: those that did not "
            "return are not in the trace\n");
  EXPECT_EQ(said("SELECT count(*) FROM sys_enter"),
            "ktracectl: sys_enter: sys_enter was not traced\n");
  config["events"] = {"sys_enter", "sys_exit"};
  EXPECT_EQ(said("SELECT count(*) FROM calls"), "");

  config["changes"] = {{{"ns", 2000}, {"config", {{"events", {"kfree"}}}}}};
  EXPECT_THAT(said("SELECT count(*) FROM sys_exit"),
              ::testing::MatchesRegex("ktracectl: sys_exit: sys_exit was not traced from "
                                      ".[0-9.]+ s on\n"));
}

TEST_F(Query, ShellReportsTheTablesThatEachStatementReads) {
  open(spec());
  ResultPrinter printer(ResultForm::csv, Colours(false), false);
  std::vector<std::string> scanned;
  Shell shell(*database_, printer,
              [&](const QueryTable& table, const auto&) { scanned.push_back(table.name()); });
  ::testing::internal::CaptureStdout();
  EXPECT_TRUE(shell.run("SELECT count(*) FROM sys_exit a JOIN calls b JOIN calls c"));
  EXPECT_THAT(scanned, ::testing::UnorderedElementsAre("sys_exit", "calls"));
  EXPECT_TRUE(shell.run("SELECT 1"));
  EXPECT_EQ(scanned.size(), 2U);
  EXPECT_FALSE(shell.run("SELECT abs(-9223372036854775807 - ts / ts) FROM sys_exit"));
  EXPECT_EQ(scanned.size(), 2U) << "the error alone";
  EXPECT_TRUE(shell.run("SELECT count(*) FROM calls"));
  EXPECT_EQ(scanned.size(), 3U) << "again";
  ::testing::internal::GetCapturedStdout();
}

TEST_F(Query, ShellReportsWhatTheColumnsOfEachStatementNeed) {
  open(spec());
  ResultPrinter printer(ResultForm::csv, Colours(false), false);
  std::vector<std::string> needed;
  Shell shell(*database_, printer,
              [&](const QueryTable&, const std::vector<std::string>& needs) { needed = needs; });
  ::testing::internal::CaptureStdout();
  EXPECT_TRUE(shell.run("SELECT count(a.end_ts) FROM threads a JOIN threads b USING (tid)"));
  EXPECT_THAT(needed, ::testing::ElementsAre("sched_process_exit"));
  EXPECT_TRUE(shell.run("SELECT count(tid) FROM threads"));
  EXPECT_THAT(needed, ::testing::IsEmpty());
  EXPECT_FALSE(shell.run("SELECT abs(-9223372036854775807 - (alive >= 0)) FROM threads"));
  EXPECT_TRUE(shell.run("SELECT count(tid) FROM threads"));
  EXPECT_THAT(needed, ::testing::IsEmpty()) << "a statement that failed needs nothing any more";
  ::testing::internal::GetCapturedStdout();
}

TEST_F(Query, RefusesTwoForms) {
  EXPECT_EQ(run({.sql = "SELECT 1", .csv = true}, true), "");
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::usage);
  EXPECT_EQ(result_.error().message, "--csv and --json exclude each other");
}

TEST_F(Query, SelectsAPartOfTheTraces) {
  const TimePoint middle{.kind = TimePoint::Kind::boot, .ns = 2000, .text = "0.000002"};
  EXPECT_EQ(run({.times = {.since = middle}, .sql = "SELECT ts FROM sys_exit"}), "  ts\n3400\n");
  EXPECT_EQ(run({.times = {.until = middle}, .sql = "SELECT ts FROM sys_exit"}), "  ts\n1500\n");
  EXPECT_EQ(
      run({.times = {.until = middle}, .sql = "SELECT count(*) AS n FROM calls WHERE ts > 2000"}),
      "n\n0\n");
}

TEST_F(Query, SelectsEvents) {
  const auto count = [this](const SelectionArgs& selection, const char* table) {
    return run({.selection = selection, .sql = std::string("SELECT count(*) AS n FROM ") + table});
  };
  EXPECT_EQ(count({.events = {"sys_exit"}}, "events"), "n\n2\n");
  EXPECT_EQ(count({.errors = {"ENOENT"}}, "sys_exit"), "n\n1\n");
  EXPECT_EQ(count({.cpus = {0}}, "events"), "n\n4\n");
  EXPECT_EQ(count({.tids = {9}}, "events"), "n\n5\n") << "switches are about two threads";
  EXPECT_EQ(count({.comms = {"eight"}}, "events"), "n\n6\n");
  EXPECT_EQ(count({.where = {"bytes_req > 300"}}, "kmalloc"), "n\n0\n");
  EXPECT_EQ(count({.events = {"kfree"}}, "losses"), "n\n0\n");
  EXPECT_EQ(count({.tids = {4000}}, "losses"), "n\n1\n") << "its task is unknown";
  EXPECT_EQ(count({.tids = {9}}, "threads"), "n\n1\n");
  EXPECT_EQ(count({.tids = {9}}, "processes"), "n\n1\n") << "a thread of it is selected";
  EXPECT_EQ(count({.cpus = {99}}, "threads"), "n\n2\n") << "a thread is not of a CPU";
}

TEST_F(Query, NamesOptionsThatSelectNothing) {
  const auto message_of = [this](const SelectionArgs& selection, const char* sql) {
    run({.selection = selection, .sql = sql});
    EXPECT_TRUE(result_);
    return err_;
  };
  EXPECT_THAT(
      message_of({.comms = {"eight"}, .cpus = {99}}, "SELECT * FROM events"),
      HasSubstr(
          "nothing that the query reads is selected by --cpu 99 (the trace is of CPUs 0, 1)\n"));
  EXPECT_THAT(message_of({.comms = {"nobody"}}, "SELECT count(*) FROM calls"),
              HasSubstr("is selected by --comm nobody (no task has this name)\n"));
  EXPECT_EQ(message_of({.comms = {"eight"}}, "SELECT count(*) FROM calls"), "");
  EXPECT_THAT(
      message_of({.comms = {"eigth"}}, "SELECT * FROM processes"),
      HasSubstr("is selected by --comm eigth (no task has this name; did you mean 'eight'?)"));
  EXPECT_EQ(message_of({.comms = {"eight"}}, "SELECT * FROM threads"), "");
  EXPECT_EQ(message_of({.comms = {"nobody"}}, "SELECT 1"), "") << "no event is read";
  for (const char* table : {"calls", "sys_exit"})
    EXPECT_THAT(message_of({.errors = {"any"}, .where = {"ret > 0"}},
                           (std::string("SELECT * FROM ") + table).c_str()),
                AllOf(HasSubstr("nothing that the query reads is selected by --where 'ret > 0'"),
                      HasSubstr(" --error any together\n")));
}

TEST_F(Query, SelectsIntervalsAsReportsDo) {
  EXPECT_EQ(run({.selection = {.errors = {"ENOENT"}}, .sql = "SELECT ts, ret FROM calls"}),
            "  ts  ret\n1000   -2\n");
  EXPECT_EQ(run({.selection = {.tids = {9}}, .sql = "SELECT ts, tid FROM runs"}),
            "  ts  tid\n1100    9\n2700    9\n");
  EXPECT_EQ(run({.selection = {.cpus = {0}}, .sql = "SELECT count(*) AS n FROM waits"}), "n\n0\n");
  EXPECT_EQ(run({.selection = {.where = {"ts_of_no_event == 1"}}, .sql = "SELECT 1"}), "");
  EXPECT_FALSE(result_);
  EXPECT_EQ(run({.selection = {.where = {"ptr == 0x2000"}}, .sql = "SELECT ts FROM allocations"}),
            "  ts\n2900\n");
  EXPECT_EQ(run({.selection = {.events = {"kmalloc"}},
                 .sql = "SELECT ts, outcome, uncertain FROM allocations"}),
            "  ts  outcome  uncertain\n1200  held             1\n2900  held             1\n");
}

TEST_F(Query, RefusesTablesOfWhichNothingCanBeSelected) {
  EXPECT_EQ(run({.selection = {.errors = {"any"}}, .sql = "SELECT * FROM calls JOIN runs"}), "");
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::usage);
  EXPECT_EQ(result_.error().message,
            "table runs cannot use --error any: it concerns none of its events (sched_switch)");
  EXPECT_EQ(run({.selection = {.events = {"kfree"}}, .sql = "SELECT * FROM runs"}), "");
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().message,
            "table runs does not use kfree, which --event selects; it uses sched_switch");
  EXPECT_EQ(run({.selection = {.events = {"kfre"}}, .sql = "SELECT 1"}), "");
  ASSERT_FALSE(result_);
  EXPECT_THAT(result_.error().message, HasSubstr("did you mean 'kfree'?"));
}

TEST_F(Query, PrintsCsv) {
  EXPECT_EQ(
      run({.sql = "SELECT 1 AS a, NULL AS \"b,c\", '' AS d, 'x\"y' AS e, 'p,q' AS f", .csv = true}),
      "a,\"b,c\",d,e,f\n1,,\"\",\"x\"\"y\",\"p,q\"\n");
  EXPECT_EQ(run({.sql = "SELECT '=1+1' AS a, '-x,' AS b, -5 AS c, '@' AS d", .csv = true}),
            "a,b,c,d\n'=1+1,\"'-x,\",-5,'@\n")
      << "no formula for a spreadsheet";
}

TEST_F(Query, PrintsJson) {
  EXPECT_EQ(run({.sql = "SELECT ts, comm, NULL AS x, 1.5 AS y, 9e999 AS z, X'00ff' AS b, 1 AS ts "
                        "FROM kfree"},
                true),
            R"({"ts":2800,"comm":"nine\\x1b[31m","x":null,"y":1.5,"z":null,"b":"00ff","ts:2":1})"
            "\n");
}

TEST_F(Query, AlignsLongResultsByTheirFirstRows) {
  const std::string out =
      run({.sql = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 2000)"
                  " SELECT x, 'y' AS y FROM c"});
  EXPECT_THAT(out, HasSubstr("\n   1  y\n"));
  EXPECT_THAT(out, HasSubstr("\n2000  y\n"));
  EXPECT_EQ(std::ranges::count(out, '\n'), 2001);
}

TEST_F(Query, PrintsNothingOfAShortResultThatFails) {
  for (const bool csv : {false, true}) {
    EXPECT_EQ(
        run({.sql = "SELECT abs(x) FROM (SELECT 1 AS x UNION ALL SELECT -9223372036854775807 - 1)",
             .csv = csv}),
        "");
    ASSERT_FALSE(result_);
    EXPECT_EQ(result_.error().message, "SQL error: integer overflow");
  }
}

TEST_F(Query, FailsForBadTraces) {
  run({.directories = {"/nonexistent"}, .sql = "SELECT 1"});
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::data);
  EXPECT_EQ(result_.error().message, "there is no trace directory /nonexistent");
}

TEST_F(Query, ShowsTheIntactPartOfADamagedTrace) {
  write_trace(directory_.path() / "trace", spec());
  const auto file = directory_.path() / "trace/ctf/cpu0";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 8);
  EXPECT_EQ(run({.directories = {directory_.path() / "trace"},
                 .sql = "SELECT a.ts FROM sys_exit a JOIN sys_exit b"}),
            "  ts\n1500\n");
  ASSERT_FALSE(result_);
  EXPECT_EQ(result_.error().code, ExitCode::data);
  EXPECT_THAT(result_.error().message, HasSubstr("cpu0 is damaged"));
  EXPECT_EQ(result_.error().message.find("; and "), std::string::npos);  // reported once
}

TEST_F(Query, WritesNothingIntoTheTrace) {
  const auto path = directory_.path() / "trace";
  write_trace(path, spec());
  const auto before = std::filesystem::last_write_time(path);
  run({.directories = {path}, .sql = "SELECT comm, count(*) FROM events GROUP BY comm ORDER BY 2"});
  EXPECT_EQ(std::filesystem::last_write_time(path), before);
}

TEST_F(Query, ShellRunsStatementsAndCommands) {
  EXPECT_EQ(type("SELECT 1 AS a;\nSELECT\n  2 AS b\n;\n.schema kfree\n.quit\nSELECT 3;\n"),
            "a\n1\nb\n2\n"
            "kfree: memory is returned to the general slab caches\n"
            "COLUMN            TYPE     WHAT\n"
            "ts                INTEGER  time: ns since boot\n"
            "wall              TEXT     the same as wall-clock time, UTC\n"
            "cpu               INTEGER  the CPU of the event\n"
            "tid               INTEGER  the thread that ran; 0: an idle task\n"
            "pid               INTEGER  its process\n"
            "comm              TEXT     the name of the thread at that time\n"
            "context           TEXT     task, softirq, hardirq or nmi; NULL: unknown\n"
            "call_site         INTEGER\n"
            "call_site_symbol  TEXT     of call_site\n"
            "ptr               INTEGER\n"
            "ptr_symbol        TEXT     of ptr\n");
  EXPECT_TRUE(result_);
  EXPECT_EQ(type("SELECT 'no end' AS x"), "x\nno end\n");
  const std::string tables = type(".tables");
  EXPECT_THAT(tables, HasSubstr("\nsys_exit           2  a system call returns\n"));
  EXPECT_THAT(tables, HasSubstr("\ncalls                 system calls from entry to exit\n"));
  EXPECT_THAT(tables,
              HasSubstr("\nwithout rows: cgroup_moves, cpu_sample, samples, kmem_cache_alloc, "));
  EXPECT_THAT(type(".help"), HasSubstr(".schema TABLE"));
}

TEST_F(Query, ShellEndsAtTheFirstErrorOfAScript) {
  EXPECT_EQ(type("SELECT 1 AS a;\nSELECT x;\nSELECT 2;\n"), "a\n1\n");
  ASSERT_FALSE(result_);
  EXPECT_THAT(result_.error().message, HasSubstr("unknown column 'x'"));
  type(".tabels");
  EXPECT_EQ(result_.error().message, "unknown command '.tabels'; did you mean '.tables'?");
  type(".schema kmaloc");
  EXPECT_EQ(result_.error().message, "unknown table 'kmaloc'; did you mean 'kmalloc'?");
}

// Each command of the page, with what it prints. FILES is an incomplete trace, which it need not
// say.
TEST_F(Query, AnswersTheQuestionsOfItsPage) {
  const std::string page = read_file(KTRACED_SOURCE_DIR "/docs/query.md");
  const std::string begin = "```\n$ ktracectl query ";
  size_t commands = 0;
  for (size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
    at += begin.size();
    const bool of_files = page.compare(at, 6, "FILES ") == 0;
    if (!of_files && page.compare(at, 4, "DIR ") != 0) continue;
    at = page.find(' ', at) + 1;
    const size_t end = page.find(std::string(1, page[at]) + "\n", at + 1);
    const size_t close = page.find("\n```\n", end);
    ASSERT_NE(close, std::string::npos);
    const std::string sql = page.substr(at + 1, end - at - 1);
    // The shell must not change it.
    EXPECT_EQ(sql.find_first_of(page[at] == '"' ? "\"$`\\" : "'"), std::string::npos) << sql;
    std::string out =
        run({.directories = {kRecorded / (of_files ? "6.12-strings" : "6.12-whole")}, .sql = sql});
    if (!of_files) out += err_;
    if (!result_) out += "ktracectl: " + result_.error().message + "\n";
    EXPECT_EQ(out, page.substr(end + 2, close - end - 1)) << sql;
    ++commands;
  }
  EXPECT_GE(commands, 34U);
  for (int number = 1; number <= 20; ++number)
    EXPECT_THAT(page, HasSubstr(fmt::format("\n### {}. ", number)));
}

}  // namespace
}  // namespace ktraced::test
