// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/time_point.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <optional>

namespace ktraced::test {
namespace {

using ::testing::ElementsAre;

// In a time zone with summer time.
class TimePointTest : public ::testing::Test {
 protected:
  using Kind = TimePoint::Kind;

  TimePointTest() {
    if (const char* zone = ::getenv("TZ")) before_ = zone;
    ::setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    ::tzset();
  }
  ~TimePointTest() override {
    if (before_)
      ::setenv("TZ", before_->c_str(), 1);
    else
      ::unsetenv("TZ");
    ::tzset();
  }
  static void expect(const char* text, Kind kind, uint64_t ns) {
    const auto point = parse_time_point(text);
    ASSERT_TRUE(point) << point.error().message;
    EXPECT_EQ(point->kind, kind) << text;
    EXPECT_EQ(point->ns, ns) << text;
    EXPECT_EQ(point->text, text);
  }
  static constexpr uint64_t kSecond = 1'000'000'000, kHour = 3600 * kSecond;

 private:
  std::optional<std::string> before_;
};

TEST_F(TimePointTest, IsSecondsSinceBoot) {
  expect("1872", Kind::boot, 1872 * kSecond);
  expect("1872.309427001", Kind::boot, 1872'309'427'001);
  expect("0.5s", Kind::boot, kSecond / 2);
}

TEST_F(TimePointTest, IsRelativeToTheEnd) {
  expect("-2s", Kind::before_end, 2 * kSecond);
  expect("-150ms", Kind::before_end, 150'000'000);
  expect("-2", Kind::before_end, 2 * kSecond);
}

TEST_F(TimePointTest, IsATimeOfDay) {
  expect("14:03", Kind::of_day, 14 * kHour + 180 * kSecond);
  expect("14:03:21.5", Kind::of_day, 14 * kHour + 201 * kSecond + kSecond / 2);
  expect("00:00:00", Kind::of_day, 0);
}

TEST_F(TimePointTest, IsADateAndTime) {
  constexpr uint64_t kAtUtc = 1795442601 * kSecond;  // 2026-11-23T14:03:21Z
  expect("2026-11-23T14:03:21Z", Kind::wall, kAtUtc + 0);
  expect("2026-11-23T15:03:21", Kind::wall, kAtUtc);
  expect("2026-11-23 15:03:21.25", Kind::wall, kAtUtc + kSecond / 4);
  expect("2026-11-23T09:33:21-04:30", Kind::wall, kAtUtc);
  expect("2026-11-23T15:03:21+0100", Kind::wall, kAtUtc);
  expect("2026-11-23", Kind::wall, kAtUtc - 15 * kHour - 201 * kSecond);
}

TEST_F(TimePointTest, IsNothingElse) {
  for (const char* text : {"",
                           "-",
                           "x",
                           "-x",
                           "1e3",
                           "12:",
                           "24:00",
                           "12:60",
                           "1:02",
                           "14:03:21.",
                           "14:03x",
                           "2026-13-01",
                           "2026-02-29",
                           "2026-11-31T12:00Z",
                           "2026-11-23T",
                           "2026-11-23T14",
                           "2026-11-23T14:03:21+",
                           "2026-11-23T14:03:21X",
                           "99999999999",
                           "1872.",
                           "+2s",
                           "-0s",
                           "2026-1-1"}) {
    const auto point = parse_time_point(text);
    ASSERT_FALSE(point) << text;
    EXPECT_EQ(point.error().code, ExitCode::usage);
    EXPECT_THAT(point.error().message, ::testing::HasSubstr("is not a time: write seconds"));
  }
}

TEST_F(TimePointTest, TextIsInLocalTime) {
  constexpr uint64_t kWinter = 1795442601'250'000'000, kSummer = kWinter - 150 * 24 * kHour;
  EXPECT_EQ(time_of_day_text(kWinter), "15:03:21.250000");
  EXPECT_EQ(iso_time_text(kWinter), "2026-11-23T15:03:21.250000+01:00");
  EXPECT_EQ(iso_time_text(kSummer), "2026-06-26T16:03:21.250000+02:00");
}

TEST_F(TimePointTest, FindsTheTimeOnOtherDays) {
  constexpr uint64_t kNow = 1795442601 * kSecond;
  EXPECT_THAT(local_times_of_day(kNow, 0, 15 * kHour), ElementsAre(kNow - 201 * kSecond));
  EXPECT_THAT(local_times_of_day(kNow, -1, 15 * kHour),
              ElementsAre(kNow - 201 * kSecond - 24 * kHour));
}

TEST_F(TimePointTest, FindsBothTimesWhenClocksAreSetBack) {
  const uint64_t noon = parse_time_point("2026-10-25T12:00")->ns;
  EXPECT_THAT(local_times_of_day(noon, 0, 2 * kHour + kHour / 2),
              ElementsAre(parse_time_point("2026-10-25T02:30+02:00")->ns,
                          parse_time_point("2026-10-25T02:30+01:00")->ns));
  EXPECT_THAT(local_times_of_day(noon, 0, 3 * kHour), ElementsAre(noon - 9 * kHour));
  EXPECT_EQ(parse_time_point("2026-10-25")->ns, noon - 13 * kHour);
  const auto twice = parse_time_point("2026-10-25T02:30");
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().message,
            "'2026-10-25T02:30' is twice on that day, because the clock is set back: write "
            "2026-10-25T02:30:00.000000+02:00 or 2026-10-25T02:30:00.000000+01:00");
}

TEST_F(TimePointTest, TakesATimeThatClocksAreSetForwardOver) {
  expect("2026-03-29T02:30", Kind::wall, parse_time_point("2026-03-29T03:30+02:00")->ns);
}

}  // namespace
}  // namespace ktraced::test
