// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/wall_bounds.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>
#include <random>
#include <string>

namespace ktraced::test {
namespace {

constexpr uint64_t kOneSecond = 1'000'000'000;
constexpr uint64_t kWallTime = 1795269801 * kOneSecond;  // 2026-11-21T14:03:21Z

std::string text_of(uint64_t ns) {
  const auto seconds = static_cast<time_t>(ns / kOneSecond);
  tm date{};
  ::gmtime_r(&seconds, &date);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", date.tm_year + 1900,
                     date.tm_mon + 1, date.tm_mday, date.tm_hour, date.tm_min, date.tm_sec,
                     ns % kOneSecond);
}

void expect_bounds(const char* text, uint64_t least, uint64_t most) {
  const WallBounds bounds = wall_bounds(text);
  EXPECT_EQ(bounds.least_ns, least) << text;
  EXPECT_EQ(bounds.most_ns, most) << text;
}

TEST(WallBounds, AreExactForWholeParts) {
  expect_bounds("2026-11-21T14:03:21.123456789Z", kWallTime + 123456789, kWallTime + 123456789);
  expect_bounds("2026-11-21T14:03:21.5", kWallTime + kOneSecond / 2, kWallTime + kOneSecond / 2);
  expect_bounds("2026-11-21T14:03:21", kWallTime, kWallTime);
  expect_bounds("2026-11-21T14:03", kWallTime - 21 * kOneSecond, kWallTime - 21 * kOneSecond);
}

TEST(WallBounds, AreThoseOfTheBeginning) {
  expect_bounds("2026-11-21T14:03:21Z", kWallTime, kWallTime + kOneSecond - 1);
  expect_bounds("2026-11-21T14:03:2", kWallTime - 21 * kOneSecond, kWallTime + 39 * kOneSecond - 1);
  expect_bounds("2026-11-21 14:03:21", kWallTime - 50601 * kOneSecond,
                kWallTime + 35799 * kOneSecond - 1);
}

TEST(WallBounds, AreNoneForOtherTexts) {
  for (const char* text : {"", "x", "1900-01-01", "9999", "0x7ea"})
    expect_bounds(text, 0, UINT64_MAX);
}

// Of a time, in both orders: as SQLite compares texts.
TEST(WallBounds, LeaveNoTimeOutThatAConditionSelects) {
  std::mt19937_64 random(7);
  constexpr std::string_view kOdd = "0123456789-T:. Zz";
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t near = random() % (uint64_t{1} << (20 + random() % 40));
    const uint64_t first = random() % (uint64_t{1} << 62), second = first / 2 + near;
    std::string typed = text_of(random() % 2 == 0 ? first : second);
    typed.resize(random() % (typed.size() + 1));
    if (!typed.empty() && random() % 2 == 0)
      typed[random() % typed.size()] = kOdd[random() % kOdd.size()];
    const WallBounds bounds = wall_bounds(typed);
    for (const uint64_t ns : {first, second}) {
      if (text_of(ns) >= typed) {
        ASSERT_GE(ns, bounds.least_ns) << text_of(ns) << " >= " << typed;
      }
      if (text_of(ns) <= typed) {
        ASSERT_LE(ns, bounds.most_ns) << text_of(ns) << " <= " << typed;
      }
    }
  }
}

}  // namespace
}  // namespace ktraced::test
