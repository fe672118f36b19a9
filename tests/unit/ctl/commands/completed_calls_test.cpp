// SPDX-License-Identifier: BSD-2-Clause
// Traces of calls in one record, sys_completed, as the commands show and export them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "ctl/commands/commands.h"
#include "unit/support/schema.h"
#include "unit/support/trace_cmd.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CompletedTrace : public ::testing::Test {
 protected:
  static constexpr int32_t kReadNr = 0, kExecveNr = 59, kOpenatNr = 257;
  static constexpr int64_t kNoEntry = -2, kRefused = -13;

  static Bytes completed(uint64_t ts, int32_t nr, int64_t ret, int64_t duration,
                         bool args_known = true) {
    rec_sys_completed call{.nr = nr, .args_known = 0, .ret = ret, .duration = duration};
    if (args_known) {
      call.args_known = 1;
      call.args[1] = 0x7f00;
    }
    return make_record(EVENT_sys_completed, ts, 8, call);
  }
  CompletedTrace() {
    write_trace(trace_,
                {.schema = built_schema(),
                 .packets = {{.records = {completed(kSecond, kOpenatNr, kNoEntry, 900),
                                          completed(kSecond + 1000, kOpenatNr, kRefused, 5000),
                                          completed(kSecond + 2000, kReadNr, 12, -1),
                                          completed(kSecond + 3000, kExecveNr, 0, 700, false)}}},
                 .names = {task_name(8, 1, 8, "eight")},
                 .begin_ns = kSecond,
                 .end_ns = 2 * kSecond});
  }
  std::string show(SelectionArgs selection, OutputFormat format) {
    ShowCommand command;
    command.directories = {trace_};
    command.selection = std::move(selection);
    command.format = format;
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const auto result = run_show(command, {});
    ::testing::internal::GetCapturedStderr();
    EXPECT_TRUE(result) << result.error().message;
    return ::testing::internal::GetCapturedStdout();
  }
  // Nanoseconds of the calls that are selected, since the first one returned.
  std::vector<uint64_t> selected(SelectionArgs selection) {
    std::vector<uint64_t> times;
    std::istringstream text(show(std::move(selection), OutputFormat::json));
    for (std::string line; std::getline(text, line);)
      times.push_back(json::parse(line)["ts"].get<uint64_t>() - kSecond);
    return times;
  }
  std::vector<uint64_t> where(const std::string& expression) {
    return selected({.where = {expression}});
  }

  TempDirectory directory_;
  const std::string trace_ = directory_.path() / "trace";
};

TEST_F(CompletedTrace, IsSelectedByErrors) {
  EXPECT_THAT(selected({.errors = {"ENOENT"}}), ElementsAre(0));
  EXPECT_THAT(selected({.errors = {"any"}}), ElementsAre(0, 1000));
  EXPECT_THAT(selected({.syscalls = {"openat", "execve"}}), ElementsAre(0, 1000, 3000));
}

TEST_F(CompletedTrace, IsSelectedByAllFields) {
  EXPECT_THAT(where("error == EACCES"), ElementsAre(1000));
  EXPECT_THAT(where("nr == openat && duration > 1000"), ElementsAre(1000));
  EXPECT_THAT(where("duration == -1"), ElementsAre(2000)) << "it is not known";
  EXPECT_THAT(where("args_known == 0"), ElementsAre(3000));
  EXPECT_THAT(where("ret > 0 && abi == 0"), ElementsAre(2000));
  EXPECT_THAT(where("ret > 100"), IsEmpty());
}

TEST_F(CompletedTrace, IsInTraceDatAsItIsShown) {
  const auto file = directory_.path() / "trace.dat";
  ExportCommand command;
  command.form = ExportCommand::Form::trace_dat;
  command.directories = {trace_};
  command.output = file;
  ::testing::internal::CaptureStderr();
  const auto result = run_export(command, {});
  ::testing::internal::GetCapturedStderr();
  ASSERT_TRUE(result) << result.error().message;
  const auto exported = ftrace_lines(trace_cmd_report(file));
  EXPECT_THAT(exported, SizeIs(4));
  EXPECT_EQ(exported, ftrace_lines(show({}, OutputFormat::ftrace)));
}

}  // namespace
}  // namespace ktraced::test
