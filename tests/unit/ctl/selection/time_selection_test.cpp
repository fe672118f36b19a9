// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/selection/time_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace ktraced::test {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// A trace from 100 s to 110 s after boot, which was at 2026-11-23T14:00:00 local time.
class TimeSelectionTest : public ::testing::Test {
 protected:
  TimeSelectionTest() {
    boot_ = parse_time_point("2026-11-23T14:00:00")->ns;
    times_ = {of_trace(100, 110, boot_)};
  }
  // From and to these seconds after a boot at that wall-clock time.
  static HistoryTimes of_trace(uint64_t begin_s, uint64_t end_s, uint64_t boot_ns) {
    return {.extent = {.begin_ns = begin_s * kNsPerSecond, .end_ns = end_s * kNsPerSecond},
            .clock_offset_ns = static_cast<int64_t>(boot_ns)};
  }
  // The trace is from one wall-clock time to another one; it begins `uptime_s` after the boot.
  void set_trace(const char* begin, const char* end, uint64_t uptime_s = 1'000'000) {
    const uint64_t from = parse_time_point(begin)->ns, to = parse_time_point(end)->ns;
    times_ = {
        of_trace(uptime_s, uptime_s + (to - from) / kNsPerSecond, from - uptime_s * kNsPerSecond)};
  }
  // The part as local times, "2026-11-23T14:01:43 to 2026-11-23T14:01:45"; "…": open. Or the error,
  // without what the trace has.
  [[nodiscard]] std::string part(const char* since, const char* until) const {
    const auto window = window_of(args(since, until), times_);
    if (!window) return window.error().message.substr(0, window.error().message.find(", which"));
    const auto text = [&](uint64_t ns) {
      return iso_time_text(realtime_of(ns, times_.front().clock_offset_ns)).substr(0, 19);
    };
    return (since != nullptr ? text(window->begin_ns) : "…") + " to " +
           (until != nullptr ? text(window->end_ns) : "…");
  }
  static TimeArgs args(const char* since, const char* until) {
    TimeArgs args;
    if (since != nullptr) args.since = *parse_time_point(since);
    if (until != nullptr) args.until = *parse_time_point(until);
    return args;
  }
  // Begin and end in ms after boot.
  [[nodiscard]] std::pair<uint64_t, uint64_t> window(const TimeArgs& args) const {
    const auto window = window_of(args, times_);
    EXPECT_TRUE(window) << window.error().message;
    if (!window) return {};
    return {window->begin_ns / 1'000'000, window->end_ns / 1'000'000};
  }
  [[nodiscard]] std::string error(const TimeArgs& args) const {
    const auto window = window_of(args, times_);
    EXPECT_FALSE(window);
    if (window) return "";
    EXPECT_EQ(window.error().code, ExitCode::usage);
    return window.error().message;
  }
  static constexpr uint64_t kOpen = UINT64_MAX / 1'000'000;

  uint64_t boot_ = 0;
  std::vector<HistoryTimes> times_;
};

TEST_F(TimeSelectionTest, TakesTimesOfEachForm) {
  using Pair = std::pair<uint64_t, uint64_t>;
  EXPECT_EQ(window({}), Pair(0, kOpen));
  EXPECT_EQ(window(args("102.5", nullptr)), Pair(102'500, kOpen));
  EXPECT_EQ(window(args("-2s", "-500ms")), Pair(108'000, 109'500));
  EXPECT_EQ(window(args("14:01:43", "14:01:44.5")), Pair(103'000, 104'500));
  EXPECT_EQ(window(args("2026-11-23T14:01:43", nullptr)), Pair(103'000, kOpen));
}

TEST_F(TimeSelectionTest, TakesTheLastPart) {
  TimeArgs last;
  last.last_s = 2;
  EXPECT_EQ(window(last), std::pair(108'000UL, kOpen));
  last.until = *parse_time_point("105");
  EXPECT_EQ(window(last), std::pair(103'000UL, 105'000UL));
  last.last_s = 1000;
  EXPECT_EQ(window(last).first, 0U) << "more than there is";
}

TEST_F(TimeSelectionTest, TakesTimesOfDayOnTheDayOfTheTrace) {
  set_trace("2026-11-23T14:01:40", "2026-11-23T14:01:50");
  EXPECT_EQ(part("14:01:43", "14:01:45"), "2026-11-23T14:01:43 to 2026-11-23T14:01:45");
  EXPECT_EQ(part("00:00", "14:01:45"), "2026-11-23T00:00:00 to 2026-11-23T14:01:45");
  EXPECT_EQ(part("14:01:45", "23:59:59"), "2026-11-23T14:01:45 to 2026-11-23T23:59:59");
  EXPECT_EQ(part("01:00", nullptr), "2026-11-23T01:00:00 to …") << "not tomorrow, which is nearer";
  EXPECT_EQ(part(nullptr, "23:00"), "… to 2026-11-23T23:00:00");
  EXPECT_EQ(part("14:02", nullptr), "--since 14:02 is after the end of the trace");
  EXPECT_EQ(part("23:00", nullptr), "--since 23:00 is after the end of the trace");
  EXPECT_EQ(part(nullptr, "01:00"), "--until 01:00 is before the beginning of the trace");
  EXPECT_EQ(part("15:00", "16:00"), "--since 15:00 --until 16:00 is after the end of the trace");
  EXPECT_EQ(part("14:01:45", "14:01:43"),
            "--since 14:01:45 --until 14:01:43 selects nothing: it begins after its end");
  EXPECT_EQ(
      part("2026-11-23T14:01:45", "14:01:43"),
      "--since 2026-11-23T14:01:45 --until 14:01:43 selects nothing: it begins after its end");
}

TEST_F(TimeSelectionTest, TakesTimesBeforeTheBootAsTheBoot) {
  set_trace("2026-11-23T14:01:40", "2026-11-23T14:01:50", 100);
  EXPECT_EQ(part("01:00", nullptr), "2026-11-23T14:00:00 to …");
  EXPECT_EQ(part("15:00", "16:00"), "--since 15:00 --until 16:00 is after the end of the trace");
  EXPECT_EQ(part("12:00", "13:00"),
            "--since 12:00 --until 13:00 is before the beginning of the trace");
}

TEST_F(TimeSelectionTest, TakesTimesOfDayOfATraceAcrossMidnight) {
  set_trace("2026-11-23T23:58:00", "2026-11-24T00:02:00");
  EXPECT_EQ(part("23:59", "00:01"), "2026-11-23T23:59:00 to 2026-11-24T00:01:00");
  EXPECT_EQ(part("00:01", nullptr), "2026-11-24T00:01:00 to …");
  EXPECT_EQ(part(nullptr, "23:59"), "… to 2026-11-23T23:59:00");
  EXPECT_EQ(part("23:00", "23:59"), "2026-11-23T23:00:00 to 2026-11-23T23:59:00");
  EXPECT_EQ(part("00:01", "01:00"), "2026-11-24T00:01:00 to 2026-11-24T01:00:00");
  EXPECT_EQ(part("00:03", nullptr), "--since 00:03 is after the end of the trace");
  EXPECT_EQ(part(nullptr, "23:57"), "--until 23:57 is before the beginning of the trace");
}

TEST_F(TimeSelectionTest, TakesAPartAcrossMidnightOfATraceNearIt) {
  set_trace("2026-11-23T23:59:50", "2026-11-23T23:59:58");
  EXPECT_EQ(part("23:59:52", "00:00:05"), "2026-11-23T23:59:52 to 2026-11-24T00:00:05");
  set_trace("2026-11-24T00:00:01", "2026-11-24T00:00:10");
  EXPECT_EQ(part("23:50", "00:00:05"), "2026-11-23T23:50:00 to 2026-11-24T00:00:05");
}

TEST_F(TimeSelectionTest, TakesTheLastOfSeveralDays) {
  set_trace("2026-11-23T14:30:00", "2026-11-25T14:30:00");
  EXPECT_EQ(part("14:00", nullptr), "2026-11-25T14:00:00 to …");
  EXPECT_EQ(part("14:00", "15:00"), "2026-11-25T14:00:00 to 2026-11-25T15:00:00");
  EXPECT_EQ(part("18:00", "07:00"), "2026-11-24T18:00:00 to 2026-11-25T07:00:00");
  EXPECT_EQ(part(nullptr, "15:00"), "… to 2026-11-24T15:00:00");
  EXPECT_EQ(part("14:00", "2026-11-24T15:00"), "2026-11-24T14:00:00 to 2026-11-24T15:00:00")
      << "up to --until";
  EXPECT_EQ(part("2026-11-23T15:00", "16:00"), "2026-11-23T15:00:00 to 2026-11-23T16:00:00")
      << "the first after --since";
}

TEST_F(TimeSelectionTest, TakesTheLastTimeOfDayBetweenTraces) {
  const uint64_t next_day = (24 + 2) * 3600;  // 16:01:40 of the day after
  times_ = {of_trace(100, 110, boot_), of_trace(next_day + 100, next_day + 110, boot_)};
  EXPECT_EQ(part("15:00", nullptr), "2026-11-24T15:00:00 to …");
  EXPECT_EQ(part("14:01:45", nullptr), "2026-11-23T14:01:45 to …") << "in a trace";
  EXPECT_EQ(part("13:00", nullptr), "2026-11-24T13:00:00 to …");
}

TEST_F(TimeSelectionTest, TakesTheClockOfEachTrace) {
  // The clock is set forward by an hour between two traces.
  const uint64_t hour = 3600 * kNsPerSecond;
  times_ = {of_trace(100, 110, boot_), of_trace(120, 130, boot_ + hour)};
  EXPECT_EQ(window(args("14:01:43", "14:01:45")), std::pair(103'000UL, 105'000UL));
  EXPECT_EQ(window(args("15:02:03", nullptr)), std::pair(123'000UL, kOpen));
  EXPECT_EQ(window(args("14:01:43", "15:02:05")), std::pair(103'000UL, 125'000UL));
  EXPECT_EQ(window(args("2026-11-23T14:01:43", "2026-11-23T15:02:05")),
            std::pair(103'000UL, 125'000UL));
  // It is set back, so that a time is in both.
  times_[1] = of_trace(120, 130, boot_ - 20 * kNsPerSecond);
  EXPECT_EQ(window(args("14:01:45", nullptr)), std::pair(125'000UL, kOpen)) << "the last one";
  EXPECT_EQ(window(args("14:01:45", "14:01:46")), std::pair(105'000UL, 126'000UL)) << "both";
}

TEST_F(TimeSelectionTest, SaysThatNothingWasRecordedBetweenTraces) {
  times_ = {of_trace(100, 110, boot_), of_trace(120, 130, boot_)};
  EXPECT_EQ(part("112", "115"), "--since 112 --until 115 is between the traces");
  EXPECT_EQ(part("14:01:52", "14:01:55"),
            "--since 14:01:52 --until 14:01:55 is between the traces");
  EXPECT_EQ(window(args("112", "120")), std::pair(112'000UL, 120'000UL));
}

TEST_F(TimeSelectionTest, SaysBothDaysOfTheTrace) {
  set_trace("2026-11-23T23:58:00", "2026-11-24T00:02:00");
  const std::string zone = iso_time_text(times_.front().clock_offset_ns).substr(26);
  EXPECT_THAT(error(args("5000000", nullptr)),
              HasSubstr("(2026-11-23T23:58:00.000000" + zone + " to 2026-11-24T00:02:00.000000" +
                        zone + ")"));
}

TEST_F(TimeSelectionTest, FailsOutsideOfTheTrace) {
  EXPECT_EQ(error(args("120", nullptr)),
            "--since 120 is after the end of the trace, which has 100.000000 to 110.000000 after "
            "boot (" +
                iso_time_text(boot_ + 100 * kNsPerSecond) + " to 14:01:50.000000)");
  EXPECT_THAT(error(args(nullptr, "14:00:03")),
              HasSubstr("--until 14:00:03 is before the beginning"));
  EXPECT_EQ(error(args("105", "103")),
            "--since 105 --until 103 selects nothing: it begins after its end");
}

TEST_F(TimeSelectionTest, FailsForWallClockTimesOfATraceWithoutThem) {
  times_.front().clock_offset_ns = 0;
  EXPECT_EQ(error(args("14:01:43", nullptr)),
            "--since 14:01:43: the trace does not say what the wall clock was; give seconds since "
            "boot");
}

TEST_F(TimeSelectionTest, EndsAStreamAtATimeToCome) {
  const uint64_t now = boot_ + 100 * kNsPerSecond;
  const auto seconds = [&](const char* until, std::optional<double> duration) {
    return stream_seconds(duration, args(nullptr, until), 100 * kNsPerSecond, now);
  };
  EXPECT_EQ(**seconds("103.5", std::nullopt), 3.5);
  EXPECT_EQ(**seconds("103.5", 2), 2);
  EXPECT_EQ(**seconds("14:01:41", std::nullopt), 1);
  EXPECT_EQ(**seconds("14:01:39", std::nullopt), 86399) << "tomorrow";
  EXPECT_EQ(*seconds(nullptr, std::nullopt), std::nullopt);
  for (const char* past : {"99", "-2s", "2026-11-23T14:01:39"}) {
    ASSERT_FALSE(seconds(past, std::nullopt));
    EXPECT_THAT(seconds(past, std::nullopt).error().message,
                HasSubstr("a stream ends at a time that is to come"));
  }
}

}  // namespace
}  // namespace ktraced::test
