// SPDX-License-Identifier: BSD-2-Clause
// Sums of the tables calls, path_calls, runs and waits are those of the reports: the rules of
// docs/query.md.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/text/plain_text.h"
#include "ctl/reports/report.h"
#include "unit/ctl/query/query_fixture.h"
#include "unit/support/recorded.h"

namespace ktraced::test {
namespace {

using nlohmann::json;

class ReportSums : public QueryTest, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override { open(std::vector<std::filesystem::path>{trace()}); }
  [[nodiscard]] static std::filesystem::path trace() { return kRecorded / GetParam(); }
  static json report(ReportCommand::Kind kind) {
    ReportCommand command;
    command.kind = kind;
    command.top = ReportCommand::kAllRows;
    command.directories = {trace()};
    Options options;
    options.json = true;
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    EXPECT_TRUE(run_report(command, options));
    ::testing::internal::GetCapturedStderr();
    return json::parse(::testing::internal::GetCapturedStdout());
  }
  // Each row's numbers, by its first column.
  template <size_t count>
  std::map<std::string, std::array<uint64_t, count>> sums(const std::string& sql) {
    std::map<std::string, std::array<uint64_t, count>> all;
    std::istringstream rows(query(sql));
    for (std::string row; std::getline(rows, row, ';');) {
      std::istringstream cells(row);
      std::string key, cell;
      std::getline(cells, key, '|');
      for (uint64_t& value : all[key])
        if (std::getline(cells, cell, '|') && !cell.empty()) value = std::stoull(cell);
    }
    return all;
  }
  uint64_t number(const std::string& sql) {
    const std::string text = query(sql);
    return std::stoull(text);
  }
};

TEST_P(ReportSums, OfCallsAreThoseOfTheReport) {
  const json calls = report(ReportCommand::Kind::syscalls);
  std::map<std::string, std::array<uint64_t, 4>> expected;
  for (const json& row : calls["calls"]["rows"])
    expected[row["syscall"]] = {row["calls"], row["failed"], row["time"]["count"],
                                row["time"]["total_ns"]};
  EXPECT_EQ(sums<4>("SELECT syscall, count(*), count(error),"
                    " count(dur) FILTER (WHERE outcome = 'returned'),"
                    " sum(dur) FILTER (WHERE outcome = 'returned')"
                    " FROM calls WHERE outcome IN ('returned', 'thread_ended') GROUP BY syscall"),
            expected);
  EXPECT_EQ(number("SELECT count(*) FROM calls WHERE outcome = 'thread_ended'"), calls["ended"]);
  EXPECT_EQ(number("SELECT count(*) FROM calls WHERE outcome = 'trace_end'"), calls["running"]);
  EXPECT_EQ(number("SELECT count(*) FROM calls WHERE ts IS NULL"), calls["begun_before"]);
  EXPECT_EQ(number("SELECT count(*) FROM calls WHERE outcome = 'returned' AND ts IS NOT NULL AND "
                   "dur IS NULL"),
            calls["uncertain"]);
}

TEST_P(ReportSums, OfPathCallsAreThoseOfTheReport) {
  const json files = report(ReportCommand::Kind::files);
  std::map<std::string, std::array<uint64_t, 4>> paths;
  for (const json& row : files["paths"]["rows"]) {
    const json& from = row["relative_to"];
    const std::string relative = from.is_number()   ? "fd " + from.dump()
                                 : from.is_string() ? from.get<std::string>()
                                                    : "";
    paths[row["role"].get<std::string>() + " " + relative + " " +
          (row["path"].is_string() ? printable(row["path"].get<std::string>()) : "?") +
          (row.contains("cut") ? "..." : "")] = {row["calls"], row["opens"], row["failed"],
                                                 row["time"]["total_ns"]};
  }
  EXPECT_EQ(sums<4>("SELECT role || ' ' || coalesce(relative_to, '') || ' ' || coalesce(path, '?')"
                    " || iif(cut, '...', ''), count(*), sum(opened), count(error), sum(dur)"
                    " FROM path_calls GROUP BY 1"),
            paths);
  std::map<std::string, std::array<uint64_t, 2>> failures;
  for (const json& row : files["failures"]["rows"]) {
    auto& sum = failures[row["syscall"].get<std::string>() + " " + row["error"].get<std::string>()];
    sum[0] += row["count"].get<uint64_t>();
    sum[1] = std::max(sum[1], row["last_ns"].get<uint64_t>());
  }
  EXPECT_EQ(sums<2>("SELECT syscall || ' ' || error, count(*), max(end_ts) FROM path_calls"
                    " WHERE error IS NOT NULL GROUP BY 1"),
            failures);
}

TEST_P(ReportSums, OfRunsAreThoseOfTheReport) {
  const json sched = report(ReportCommand::Kind::sched);
  const std::string end = std::to_string(sched["window"]["end_ns"].get<uint64_t>());
  const std::string known = " FROM (SELECT cpu, tid, CASE outcome WHEN 'trace_end' THEN " + end +
                            " - ts ELSE dur END AS ns FROM runs) WHERE ns > 0 ";
  std::map<std::string, std::array<uint64_t, 1>> threads;
  for (const json& row : sched["threads"]["rows"])
    if (row["on_cpu_ns"].is_number() && row["on_cpu_ns"] != 0)
      threads[std::to_string(row["tid"].get<uint32_t>())][0] += row["on_cpu_ns"].get<uint64_t>();
  EXPECT_EQ(sums<1>("SELECT tid, sum(ns)" + known + "AND tid != 0 GROUP BY tid"), threads);

  std::map<std::string, std::array<uint64_t, 2>> cpus;
  for (const json& row : sched["cpus"])
    if (row["busy_ns"] != 0 || row["idle_ns"] != 0)
      cpus[std::to_string(row["cpu"].get<uint32_t>())] = {row["busy_ns"], row["idle_ns"]};
  EXPECT_EQ(sums<2>("SELECT cpu, sum(ns) FILTER (WHERE tid != 0), sum(ns) FILTER (WHERE tid = 0)" +
                    known + "GROUP BY cpu"),
            cpus);
}

TEST_P(ReportSums, OfWaitsAreThoseOfTheReport) {
  const json sched = report(ReportCommand::Kind::sched);
  std::map<std::string, std::array<uint64_t, 3>> expected;
  for (const json& row : sched["threads"]["rows"]) {
    const json& delay = row["delay"];
    const uint64_t preempted_ns = row["preempted_ns"];
    if (delay["count"] == 0 && preempted_ns == 0) continue;
    auto& sum = expected[std::to_string(row["tid"].get<uint32_t>())];
    sum[0] += delay["count"].get<uint64_t>();
    if (delay["count"] != 0) sum[1] += delay["total_ns"].get<uint64_t>();
    sum[2] += preempted_ns;
  }
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(sums<3>("SELECT tid, count(*) FILTER (WHERE reason = 'woken'),"
                    " sum(dur) FILTER (WHERE reason = 'woken'),"
                    " sum(dur) FILTER (WHERE reason = 'preempted') FROM waits GROUP BY tid"),
            expected);
  EXPECT_EQ(number("SELECT count(*) FROM waits WHERE reason = 'woken'"), sched["delay"]["count"]);
}

INSTANTIATE_TEST_SUITE_P(Kernels, ReportSums, recorded_names(), name_of_recorded);

}  // namespace
}  // namespace ktraced::test
