// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/duration.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

using namespace std::chrono_literals;

TEST(Duration, AcceptsUnits) {
  EXPECT_EQ(parse_duration("500ms").value(), 500ms);
  EXPECT_EQ(parse_duration("2s").value(), 2s);
  EXPECT_EQ(parse_duration("1m").value(), 1min);
  EXPECT_EQ(parse_duration("1.5h").value(), 90min);
  EXPECT_EQ(parse_duration("1d").value(), 24h);
  EXPECT_EQ(parse_duration("250us").value(), 250us);
  EXPECT_EQ(parse_duration("100ns").value(), 100ns);
}

TEST(Duration, DefaultsToSeconds) {
  EXPECT_EQ(parse_duration("2").value(), 2s);
  EXPECT_EQ(parse_duration("0.25").value(), 250ms);
  EXPECT_EQ(parse_duration("1e1").value(), 10s);
}

TEST(Duration, IsAboveZeroAndFinite) {
  for (const char* text : {"0", "0s", "-1", "-1s", "nan", "inf", "1e300", "0.1ns", "200000000m"}) {
    const auto duration = parse_duration(text);
    ASSERT_FALSE(duration) << text;
    EXPECT_EQ(duration.error().code, ExitCode::usage);
  }
}

TEST(Duration, IsRefusedInAnotherForm) {
  for (const char* text :
       {"", "s", "ms", "2 s", " 2s", "2S", "2sec", "1m30s", "2s ", "0x10", "two"})
    EXPECT_FALSE(parse_duration(text)) << text;
}

}  // namespace
}  // namespace ktraced
