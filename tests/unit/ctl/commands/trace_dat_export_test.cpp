// SPDX-License-Identifier: BSD-2-Clause
// `export --to trace.dat`, read back by trace-cmd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <map>

#include "ctl/commands/commands.h"
#include "unit/support/golden.h"
#include "unit/support/recorded.h"
#include "unit/support/schema.h"
#include "unit/support/trace_cmd.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Names as in a trace.dat, which has one for each thread: the last.
void name_as_last(std::vector<FtraceLine>& lines) {
  std::map<std::string, std::string> last;
  for (const FtraceLine& line : lines) last[line.tid] = line.comm;
  for (FtraceLine& line : lines) line.comm = last[line.tid];
}

class TraceDatExport : public ::testing::Test {
 protected:
  Result<> run(std::vector<std::string> directories, const SelectionArgs& selection = {}) {
    ExportCommand command;
    command.form = ExportCommand::Form::trace_dat;
    command.directories = std::move(directories);
    command.selection = selection;
    command.output = file_;
    ::testing::internal::CaptureStderr();
    auto result = run_export(command, {});
    err_ = ::testing::internal::GetCapturedStderr();
    return result;
  }
  std::vector<FtraceLine> exported(std::vector<std::string> directories,
                                   const SelectionArgs& selection = {}) {
    fs::remove(file_);
    auto result = run(std::move(directories), selection);
    EXPECT_TRUE(result) << result.error().message;
    return ftrace_lines(trace_cmd_report(file_));
  }
  static std::vector<FtraceLine> shown(std::vector<std::string> directories,
                                       const SelectionArgs& selection = {}) {
    ShowCommand command;
    command.format = OutputFormat::ftrace;
    command.directories = std::move(directories);
    command.selection = selection;
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    EXPECT_TRUE(run_show(command, {}));
    ::testing::internal::GetCapturedStderr();
    auto lines = ftrace_lines(::testing::internal::GetCapturedStdout());
    name_as_last(lines);
    return lines;
  }
  // A trace of one thread on one CPU.
  std::string write(const std::string& name, uint64_t start) {
    TraceSpec spec{.schema = built_schema(),
                   .packets = {{.records = {make_record(EVENT_kfree, start, 8, rec_kfree{})}}},
                   .names = {task_name(8, 1, 8, "eight")},
                   .begin_ns = start,
                   .end_ns = start + kSecond};
    write_trace(directory_.path() / name, spec);
    return directory_.path() / name;
  }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_.path()))
      names.insert(entry.path().filename());
    return names;
  }

  TempDirectory directory_;
  fs::path file_ = directory_.path() / "trace.dat";
  std::string err_;
};

TEST_F(TraceDatExport, LinesOfRecordedTracesEqualThoseOfShow) {
  for (const char* name :
       {"6.1-filtered", "6.1-whole", "6.12-filtered", "6.12-whole", "7.3-filtered"}) {
    const auto lines = exported({kRecorded / name});
    EXPECT_GT(lines.size(), 1000U) << name;
    EXPECT_EQ(lines, shown({kRecorded / name})) << name;
  }
}

TEST_F(TraceDatExport, LinesOfTheGoldenTraceEqualThoseOfShow) {
  EXPECT_EQ(exported({kGolden / "trace"}), shown({kGolden / "trace"}));
  EXPECT_THAT(err_, HasSubstr("294 events exported, 0 lost"));
}

TEST_F(TraceDatExport, SelectsLikeShow) {
  const SelectionArgs selection{.events = {"sched"}, .comms = {"truth"}};
  const auto lines = exported({kRecorded / "6.1-whole"}, selection);
  EXPECT_GT(lines.size(), 10U);
  EXPECT_EQ(lines, shown({kRecorded / "6.1-whole"}, selection));
}

TEST_F(TraceDatExport, MergesTraces) {
  const auto later = write("later", 10 * kSecond), earlier = write("earlier", kSecond);
  const auto lines = exported({later, earlier});
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines, shown({later, earlier}));
}

TEST_F(TraceDatExport, IsReadableWithoutEvents) {
  write_trace(directory_.path() / "empty",
              {.schema = built_schema(), .packets = {{.cpu = 0}}, .begin_ns = 5, .end_ns = 9});
  ASSERT_TRUE(run({directory_.path() / "empty"}));
  EXPECT_EQ(trace_cmd_report(file_), "cpus=1\n");
}

TEST_F(TraceDatExport, LeavesExistingFilesAlone) {
  write_file(file_, "mine");
  const auto result = run({kGolden / "trace"});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ExitCode::usage);
  EXPECT_THAT(result.error().message, HasSubstr("trace.dat: it exists already"));
  EXPECT_EQ(read_file(file_), "mine");
}

// A limit on the size of files fails a write as a full disk does.
TEST_F(TraceDatExport, LeavesNothingBehindWhenTheDiskIsFull) {
  struct rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  for (const rlim_t limit : {8192U, 100000U}) {  // in the temporary file, in the file itself
    const struct rlimit small{.rlim_cur = limit, .rlim_max = before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const auto result = run({kGolden / "trace"});
    ::setrlimit(RLIMIT_FSIZE, &before);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ExitCode::io);
    EXPECT_THAT(result.error().message, HasSubstr("File too large"));
    EXPECT_TRUE(files().empty());
  }
  std::signal(SIGXFSZ, handler);
}

// With any byte of a file wrong, the output can be read.
TEST_F(TraceDatExport, WritesAReadableFileOrNothingWhenTheTraceIsDamaged) {
  const fs::path damaged = directory_.path() / "damaged";
  fs::copy(kGolden / "trace", damaged, fs::copy_options::recursive);
  const fs::path file = damaged / "ctf" / "cpu1";
  const std::string good = read_file(file);
  for (size_t at = 80; at < good.size(); at += 997) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0xff);
    write_file(file, bad);
    fs::remove(file_);
    const auto result = run({damaged});
    if (fs::exists(file_))
      EXPECT_THAT(trace_cmd_report(file_), ::testing::Not(HasSubstr("ended with"))) << at;
    else
      EXPECT_FALSE(result) << at;
  }
}

}  // namespace
}  // namespace ktraced::test
