// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/selection/time_selection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ktraced::test {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kNsPerSecond = 1'000'000'000;

// A trace from 100 s to 110 s after boot, which was at 2026-11-23T14:00:00 local time.
class TimeSelectionTest : public ::testing::Test {
 protected:
  TimeSelectionTest() {
    boot_ = parse_time_point("2026-11-23T14:00:00")->ns;
    times_ = {.extent = {.begin_ns = 100 * kNsPerSecond, .end_ns = 110 * kNsPerSecond},
              .clock_offset_ns = static_cast<int64_t>(boot_)};
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
  HistoryTimes times_;
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

TEST_F(TimeSelectionTest, MeansTheNearestDay) {
  times_.clock_offset_ns = static_cast<int64_t>(parse_time_point("2026-11-23T23:58:15")->ns);
  EXPECT_EQ(window(args("23:59:57", "00:00:03")), std::pair(102'000UL, 108'000UL))
      << "the trace is of two days";
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
  times_.clock_offset_ns = 0;
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
