// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/reports/file_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/ctl/reports/report_fixture.h"
#include "unit/support/call_string.h"

namespace ktraced::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class FileReportTest : public ReportTest {
 protected:
  static constexpr int32_t kOpenatNumber = 257, kRenameNumber = 82;

  // A call of openat, with its path.
  void open(uint32_t tid, std::string_view path, int64_t ret, bool cut = false,
            uint64_t directory = static_cast<uint64_t>(-100)) {
    add(make_record(EVENT_sys_enter, next_, tid,
                    rec_sys_enter{.nr = kOpenatNumber, .args = {directory, 0x1000}}));
    add(call_string(EVENT_sys_enter_string, next_, tid,
                    {.pointer = 0x1000, .nr = kOpenatNumber, .arg = 1, .cut = cut ? u8{1} : u8{0}},
                    path));
    add(make_record(EVENT_sys_exit, next_, tid, rec_sys_exit{.nr = kOpenatNumber, .ret = ret}));
  }
  void rename(uint32_t tid, std::string_view from, std::string_view to) {
    add(make_record(EVENT_sys_enter, next_, tid,
                    rec_sys_enter{.nr = kRenameNumber, .args = {0x1000, 0x2000}}));
    add(call_string(EVENT_sys_enter_string, next_, tid, {.pointer = 0x1000, .nr = kRenameNumber},
                    from));
    add(call_string(EVENT_sys_enter_string, next_, tid,
                    {.pointer = 0x2000, .nr = kRenameNumber, .arg = 1}, to));
    add(make_record(EVENT_sys_exit, next_, tid, rec_sys_exit{.nr = kRenameNumber}));
  }
  void add(const Bytes& record) {
    records_.push_back(record);
    next_ += 1000;
  }
  std::string trace(const std::function<void(Manifest&)>& change = {}) {
    return write({.schema = built_schema(),
                  .packets = {{.cpu = 0, .records = records_}},
                  .names = {task_name(8, 1, 8, "eight"), task_name(9, 1, 9, "nine")},
                  .begin_ns = kSecond,
                  .end_ns = 2 * kSecond},
                 change);
  }
  // Of a trace with three opens by "eight", of which one fails, and one by "nine".
  std::string office() {
    open(8, "/etc/hosts", 3);
    open(8, "/etc/hosts", 3);
    open(8, "/none", -2);
    open(9, "/none", -2);
    return trace();
  }
  json files(const std::string& path, const std::function<void(ReportCommand&)>& set = {}) {
    ReportCommand command = this->command(ReportCommand::Kind::files, {path});
    if (set) set(command);
    run(command, true);
    EXPECT_TRUE(result_);
    return json::parse(out_);
  }

  std::vector<Bytes> records_;
  uint64_t next_ = kSecond;
};

TEST_F(FileReportTest, HasPathsFailuresAndProcesses) {
  const json report = files(office());
  const json& paths = report["paths"]["rows"];
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_EQ(paths[0]["path"], "/etc/hosts");
  EXPECT_EQ(paths[0]["opens"], 2);
  EXPECT_EQ(paths[0]["failed"], 0);
  EXPECT_EQ(paths[0]["relative_to"], nullptr);
  EXPECT_EQ(paths[0]["first_ns"], kSecond) << "when the first call began";
  EXPECT_EQ(paths[1]["path"], "/none");
  EXPECT_EQ(paths[1]["errors"], json({{"ENOENT", 2}}));
  EXPECT_EQ(paths[1]["processes"], 2);
  const json& failures = report["failures"]["rows"];
  ASSERT_EQ(failures.size(), 2U);
  EXPECT_EQ(failures[0]["comm"], "nine") << "the last one first";
  EXPECT_EQ(failures[0]["syscall"], "openat");
  EXPECT_EQ(failures[0]["error"], "ENOENT");
  EXPECT_EQ(failures[0]["path"], "/none");
  EXPECT_EQ(report["processes"]["rows"][0]["comm"], "eight");
  EXPECT_EQ(report["processes"]["rows"][0]["paths"], 2);
  EXPECT_EQ(report["process_paths"]["of"], 3);
  EXPECT_EQ(report["calls"]["rows"][0]["calls"], 4);
  EXPECT_EQ(report["caveats"], json::array());
}

TEST_F(FileReportTest, IsSortedByAColumn) {
  const std::string path = office();
  const auto first = [&](const char* by) {
    return files(path,
                 [&](ReportCommand& command) { command.by = by; })["paths"]["rows"][0]["path"];
  };
  EXPECT_EQ(first("opens"), "/etc/hosts");
  EXPECT_EQ(first("failed"), "/none");
}

TEST_F(FileReportTest, SelectsCallsByTheirErrorTaskOrPath) {
  const std::string path = office();
  const auto calls = [&](SelectionArgs selection) {
    return files(path, [&](ReportCommand& command) {
      command.selection = std::move(selection);
    })["calls"]["rows"][0]["calls"];
  };
  EXPECT_EQ(calls({.errors = {"ENOENT"}}), 2);
  EXPECT_EQ(calls({.pids = {9}}), 1);
  EXPECT_EQ(calls({.where = {"text ~ \"/etc/*\""}}), 2);
  EXPECT_EQ(calls({.syscalls = {"openat"}}), 4);
}

TEST_F(FileReportTest, ShowsWhatAPathIsToItsCall) {
  rename(8, "/old", "/new");
  open(8, "lib.so", 3, false, 5);
  open(8, "lib.so", 3);
  open(8, "", -2);
  open(8, std::string(256, 'x'), 3, true);
  const std::string path = trace();
  const std::string out = text(ReportCommand::Kind::files, path);
  EXPECT_THAT(out, HasSubstr("  /old (old path)\n"));
  EXPECT_THAT(out, HasSubstr("  /new (new path)\n"));
  EXPECT_THAT(out, HasSubstr("  fd 5: lib.so\n"));
  EXPECT_THAT(out, HasSubstr("  lib.so\n"));
  EXPECT_THAT(out, HasSubstr("  \"\"\n"));
  EXPECT_THAT(out, HasSubstr("xxx...\n"));
  const json report = files(path);
  const json& rows = report["paths"]["rows"];
  EXPECT_EQ(rows[0]["role"], "old_path");
  EXPECT_EQ(rows[2]["relative_to"], 5);
  EXPECT_EQ(rows[3]["relative_to"], "cwd");
  EXPECT_EQ(rows[5]["cut"], true);
}

TEST_F(FileReportTest, EscapesWhatControlsATerminal) {
  open(8, "/a\x1b[2J\n\xff", 3);
  const std::string path = trace();
  EXPECT_THAT(text(ReportCommand::Kind::files, path), HasSubstr("/a\\x1b[2J\\x0a\\xff"));
  ReportCommand csv = command(ReportCommand::Kind::files, {path});
  csv.csv = true;
  run(csv, false);
  EXPECT_THAT(out_, Not(HasSubstr("\x1b")));
  run(command(ReportCommand::Kind::files, {path}), true);
  EXPECT_THAT(out_, Not(HasSubstr("\x1b")));
}

TEST_F(FileReportTest, HasEveryTableAsCsv) {
  const std::string path = office();
  for (const char* table : {"paths", "failures", "processes", "process_paths", "calls"}) {
    ReportCommand csv = command(ReportCommand::Kind::files, {path});
    csv.csv = true;
    csv.table = table;
    run(csv, false);
    EXPECT_TRUE(result_) << table;
    const auto lines = std::ranges::count(out_, '\n');
    EXPECT_GT(lines, 1) << table;
  }
}

TEST_F(FileReportTest, NamesTheCommandThatRecordsStrings) {
  open(8, "/a", 3);
  std::erase_if(records_, [](const Bytes& record) {
    return RecordView(record.data()).id() == EVENT_sys_enter_string;
  });
  const std::string path =
      trace([](Manifest& manifest) { manifest.config["events"] = {"sys_enter", "sys_exit"}; });
  ::testing::internal::CaptureStderr();
  const json report = files(path);
  EXPECT_THAT(
      ::testing::internal::GetCapturedStderr(),
      HasSubstr("report files needs sys_enter_string and sys_exit_string, not traced: "
                "'ktracectl events enable sys_enter_string sys_exit_string' turns them on"));
  EXPECT_EQ(report["path_unseen"], 1);
  EXPECT_THAT(report["caveats"].dump(), HasSubstr("sys_enter_string was not traced"));
}

TEST_F(FileReportTest, CountsAThousandPaths) {
  for (int i = 0; i < 1000; ++i) open(8, "/" + std::to_string(i), i % 2 == 0 ? 3 : -2);
  const json report = files(trace(), [](ReportCommand& command) { command.top = 5; });
  EXPECT_EQ(report["paths"]["rows"].size(), 5U);
  EXPECT_EQ(report["paths"]["of"], 1000);
  EXPECT_EQ(report["failures"]["of"], 500);
}

}  // namespace
}  // namespace ktraced::test
