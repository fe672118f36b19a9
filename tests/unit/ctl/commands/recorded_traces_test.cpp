// SPDX-License-Identifier: BSD-2-Clause
// Recordings of several kernels in every format and report: see tests/data/recorded/README.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "ctl/commands/commands.h"
#include "ctl/printing/output_format.h"
#include "ctl/reports/report.h"
#include "perfetto/read.h"
#include "unit/support/recorded.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {
namespace {

namespace fs = std::filesystem;

struct Printed {
  std::string text;
  bool good = false;
};

template <class Run>
Printed printed(Run&& run) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const Result<> result = run();
  Printed printed{.text = ::testing::internal::GetCapturedStdout(), .good = result.has_value()};
  ::testing::internal::GetCapturedStderr();
  return printed;
}

// The path of the source directory is not part of a report.
std::string without_path(std::string text) {
  const std::string path = kRecorded.string() + "/";
  for (size_t at = text.find(path); at != std::string::npos; at = text.find(path, at))
    text.erase(at, path.size());
  return text;
}

class RecordedTrace : public ::testing::TestWithParam<const char*> {
 protected:
  // Reports have local times.
  RecordedTrace() {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
  [[nodiscard]] std::string expected(const std::string& what) const {
    return read_file(kRecorded / "expected" / (std::string(GetParam()) + "." + what));
  }
  [[nodiscard]] std::string trace() const { return kRecorded / GetParam(); }
};

TEST_P(RecordedTrace, IsShownInEveryFormat) {
  for (const std::string& form : format_names()) {
    ShowCommand command;
    command.format = format_named(form);
    command.names = form == "process";
    command.gfp_names = form == "kmemtrace-minimal";
    command.count = 150;
    command.directories = {trace()};
    const Printed shown = printed([&] { return run_show(command, {}); });
    EXPECT_TRUE(shown.good) << form;
    const bool has_kmem = !std::string(GetParam()).ends_with("-strings");
    EXPECT_TRUE(shown.text != "" || (form.starts_with("kmemtrace") && !has_kmem)) << form;
    EXPECT_EQ(shown.text, expected(form)) << form;
  }
}

TEST_P(RecordedTrace, IsReportedOn) {
  const std::pair<ReportCommand::Kind, const char*> kinds[] = {
      {ReportCommand::Kind::summary, "summary"},   {ReportCommand::Kind::files, "files"},
      {ReportCommand::Kind::kmem, "kmem"},         {ReportCommand::Kind::sched, "sched"},
      {ReportCommand::Kind::syscalls, "syscalls"}, {ReportCommand::Kind::wakeups, "wakeups"}};
  for (const auto& [kind, name] : kinds) {
    ReportCommand command;
    command.kind = kind;
    command.who = "truth";
    command.directories = {trace()};
    const Printed report = printed([&] { return run_report(command, {}); });
    EXPECT_TRUE(report.good) << name;
    EXPECT_EQ(without_path(report.text), expected(name)) << name;
  }
}

TEST_P(RecordedTrace, HasATreeOfProcesses) {
  ReportCommand command;
  command.kind = ReportCommand::Kind::processes;
  command.tree = true;
  command.top = ReportCommand::kAllRows;
  command.directories = {trace()};
  const Printed report = printed([&] { return run_report(command, {}); });
  EXPECT_TRUE(report.good);
  EXPECT_EQ(without_path(report.text), expected("processes"));
}

TEST_P(RecordedTrace, HasEveryTableOfReportsAsCsv) {
  std::string all;
  for (const ReportKind& kind : report_kinds())
    for (const std::string& table : table_names(kind)) {
      ReportCommand command;
      command.kind = kind.kind;
      command.who = "*";
      command.directories = {trace()};
      command.top = 3;
      command.csv = true;
      command.table = table;
      all += "-- " + std::string(kind.name) + ":" + table + "\n" +
             printed([&] { return run_report(command, {}); }).text;
    }
  EXPECT_EQ(all, expected("csv"));
}

// Expects every event once, and only packets that a viewer understands.
TEST_P(RecordedTrace, IsExported) {
  ExportCommand command;
  command.directories = {trace()};
  command.form = ExportCommand::Form::json;
  command.output = "-";
  const Printed lines = printed([&] { return run_export(command, {}); });
  EXPECT_TRUE(lines.good);
  std::map<std::string, uint64_t> counts;
  std::istringstream in(lines.text);
  for (std::string line; std::getline(in, line);)
    if (const auto event = nlohmann::json::parse(line); !event.contains("lost"))
      ++counts[event["event"]];

  command.form = ExportCommand::Form::perfetto;
  const Printed exported = printed([&] { return run_export(command, {}); });
  EXPECT_TRUE(exported.good);
  const ReadTrace read = read_perfetto(exported.text);
  EXPECT_THAT(read.faults, ::testing::IsEmpty());
  if (const uint64_t begun = counts["sched_wakeup_new"]; begun != 0)
    counts["sched_waking"] += begun;
  std::erase_if(counts, [](const auto& count) { return count.second == 0; });
  EXPECT_EQ(read.counts(), counts) << "and each new thread is woken";
  EXPECT_GT(counts.size(), 5U);
}

INSTANTIATE_TEST_SUITE_P(Kernels, RecordedTrace, recorded_names(), name_of_recorded);

}  // namespace
}  // namespace ktraced::test
