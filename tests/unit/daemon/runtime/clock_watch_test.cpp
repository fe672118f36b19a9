// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/runtime/clock_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <vector>

namespace ktraced {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr int64_t kHourNs = 3'600'000'000'000;

class ClockWatchTest : public testing::Test {
 protected:
  // The kernel rings when somebody has set the clock.
  void ring() {
    const uint64_t one = 1;
    ASSERT_EQ(::write(bell_, &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
    ASSERT_TRUE(loop_->run_once(1s));
  }
  void set_clock(int64_t by_ns) {
    offset_ += by_ns;
    ring();
  }

  std::unique_ptr<EventLoop> loop_ = EventLoop::create().value();
  int bell_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);  // owned by the watch
  int64_t offset_ = 1000 * kHourNs;
  std::vector<int64_t> steps_;
  ClockWatch watch_ =
      ClockWatch::start(*loop_, {.bell = Fd(bell_), .offset = [this] { return offset_; }},
                        [this](int64_t step) { steps_.push_back(step); })
          .value();
};

TEST_F(ClockWatchTest, ReportsEachStepOnce) {
  set_clock(kHourNs);
  ring();
  set_clock(-3 * kHourNs);
  EXPECT_THAT(steps_, ElementsAre(kHourNs, -3 * kHourNs));
}

// NTP slews the clock, and a suspension ends with a small correction.
TEST_F(ClockWatchTest, ReportsSmallChangesWhenTheyAddUp) {
  set_clock(6'000'000);
  EXPECT_THAT(steps_, IsEmpty());
  set_clock(6'000'000);
  EXPECT_THAT(steps_, ElementsAre(12'000'000));
}

TEST_F(ClockWatchTest, DoesNotWakeTheLoopWhileTheClockRuns) {
  auto watch = ClockWatch::start(*loop_, [this](int64_t step) { steps_.push_back(step); });
  ASSERT_TRUE(watch) << watch.error().message;
  ASSERT_TRUE(loop_->run_once(1ms));
  EXPECT_THAT(steps_, IsEmpty());
}

}  // namespace
}  // namespace ktraced
