// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/report_clock.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <time.h>

namespace ktraced::test {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
// 2026-11-23T23:59:50 UTC.
constexpr int64_t kOffsetNs = 1'795'478'390'000'000'000;

// Of a window that begins 100 s after boot, 10 s before midnight.
class ReportClockTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ::setenv("TZ", "UTC", 1);
    ::tzset();
  }
  void TearDown() override {
    ::unsetenv("TZ");
    ::tzset();
  }
  static ReportClock clock(int64_t clock_offset_ns, uint64_t begin_ns = 100 * kSecondNs) {
    nlohmann::json report;
    report["window"]["begin_ns"] = begin_ns;
    report["window"]["clock_offset_ns"] = clock_offset_ns;
    return ReportClock(report);
  }
  static std::string text(uint64_t ns) {
    std::vector<Table::Cell> row;
    clock(kOffsetNs - static_cast<int64_t>(100 * kSecondNs)).add_time(row, ns);
    return row.at(0).text;
  }
};

TEST_F(ReportClockTest, ShowsTheTimeOfTheDayOnWhichTheWindowBegins) {
  EXPECT_EQ(text(100 * kSecondNs), "23:59:50.000000");
  EXPECT_EQ(text(101 * kSecondNs + 500'000), "23:59:51.000500");
  EXPECT_EQ(text(90 * kSecondNs), "23:59:40.000000");
}

TEST_F(ReportClockTest, ShowsTheDateOfAnotherDay) {
  EXPECT_EQ(text(110 * kSecondNs + 1000), "2026-11-24 00:00:00.000001");
  EXPECT_EQ(text(0), "23:58:10.000000");
}

TEST_F(ReportClockTest, ShowsADayBeforeTheWindowToTheSecond) {
  std::vector<Table::Cell> row;
  clock(kOffsetNs, 86'500 * kSecondNs).add_time(row, 1'500'000'000);
  EXPECT_EQ(row.at(0).text, "2026-11-23 23:59:51");
}

TEST_F(ReportClockTest, UsesTheClockOfEachTrace) {
  constexpr int64_t kHourNs = 3600 * static_cast<int64_t>(kSecondNs);
  nlohmann::json report;
  report["window"] = {
      {"begin_ns", 100 * kSecondNs},
      {"clock_offset_ns", kOffsetNs},
      {"clocks",
       {{{"since_ns", 100 * kSecondNs}, {"clock_offset_ns", kOffsetNs - kHourNs}},
        {{"since_ns", 200 * kSecondNs}, {"clock_offset_ns", kOffsetNs - 2 * kHourNs}},
        {{"since_ns", 300 * kSecondNs}, {"clock_offset_ns", 0}}}}};
  const ReportClock clock(report);
  std::vector<Table::Cell> row;
  for (const uint64_t seconds : {10, 100, 199, 200, 300}) clock.add_time(row, seconds * kSecondNs);
  std::vector<std::string> texts;
  for (const Table::Cell& cell : row) texts.push_back(cell.text);
  EXPECT_EQ(texts, (std::vector<std::string>{"23:00:00.000000", "23:01:30.000000",
                                             "23:03:09.000000", "22:03:10.000000", "-"}));
}

TEST_F(ReportClockTest, AddsNoColumnIfTheWallClockIsUnknown) {
  const Colours colours = Colours(false);
  std::vector<Table::Cell> cells;
  clock(0).add_heading(cells, colours);
  clock(0).add_time(cells, kSecondNs);
  clock(0).add_nothing(cells);
  EXPECT_TRUE(cells.empty());
  clock(kOffsetNs).add_heading(cells, colours);
  clock(kOffsetNs).add_nothing(cells);
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[0].text, "WALL CLOCK");
  EXPECT_EQ(cells[1].text, "-");
}

}  // namespace
}  // namespace ktraced::test
