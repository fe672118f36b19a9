// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/snapshots/retention_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>

namespace ktraced {
namespace {

using testing::HasSubstr;

class RetentionLogTest : public testing::Test {
 protected:
  RetentionLogTest() : before_(spdlog::default_logger()) {
    auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(log_);
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("test", sink));
  }
  ~RetentionLogTest() override { spdlog::set_default_logger(before_); }

  [[nodiscard]] size_t lines_with(const std::string& text) const {
    size_t count = 0;
    std::istringstream in(log_.str());
    for (std::string line; std::getline(in, line);) count += line.contains(text) ? 1 : 0;
    return count;
  }

  std::ostringstream log_;
  std::shared_ptr<spdlog::logger> before_;
  RetentionLog retention_;
};

constexpr Retention kLimits{.max_count = 3, .max_bytes = 2U << 20};

TEST_F(RetentionLogTest, LogsAndCountsEvictions) {
  retention_.add({.limits = kLimits,
                  .evicted = {{.name = "a", .bytes = 3U << 19, .over_count = true},
                              {.name = "b", .bytes = 100, .over_count = false}},
                  .excess = {}});
  EXPECT_THAT(log_.str(), HasSubstr("removed the snapshot a (1.50 MiB): there were more than 3 "
                                    "(flight.max_snapshots)"));
  EXPECT_THAT(log_.str(), HasSubstr("removed the snapshot b (0.00 MiB): all together had more than "
                                    "2 MiB (flight.max_total_mb)"));
  EXPECT_EQ(
      retention_.counts(),
      (RetentionCounts{.evicted = 2, .evicted_bytes = (3U << 19) + 100, .limits_exceeded = 0}));
}

TEST_F(RetentionLogTest, LogsOnceThatKeptSnapshotsExceedTheLimits) {
  const Enforced exceeded{
      .limits = kLimits, .evicted = {}, .excess = Excess{.count = 5, .bytes = 1U << 20, .kept = 4}};
  const Enforced met{.limits = kLimits, .evicted = {}, .excess = {}};
  for (int i = 0; i < 3; ++i) retention_.add(exceeded);
  EXPECT_EQ(lines_with("5 snapshots of 1.00 MiB exceed"), 1U);
  EXPECT_THAT(log_.str(), HasSubstr("because 4 are kept"));
  retention_.add(met);
  retention_.add(exceeded);
  EXPECT_EQ(lines_with("exceed"), 2U);
  EXPECT_EQ(retention_.counts().limits_exceeded, 4U);
}

}  // namespace
}  // namespace ktraced
