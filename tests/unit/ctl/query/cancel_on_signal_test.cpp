// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/query/cancel_on_signal.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "unit/support/never.h"

namespace ktraced::test {
namespace {

TEST(CancelOnSignal, CallsAFunctionInsteadOfEndingTheProgram) {
  std::atomic<int> cancelled = 0;
  {
    const auto signals = CancelOnSignal::start([&] { ++cancelled; });
    ASSERT_TRUE(signals);
    for (int expected = 1; expected <= 2; ++expected) {
      ::kill(::getpid(), SIGINT);
      for (int ms = 0; ms < kNeverMs && cancelled < expected; ++ms)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_EQ(cancelled, expected);
    }
  }
  sigset_t blocked;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  EXPECT_EQ(::sigismember(&blocked, SIGINT), 0);
}

}  // namespace
}  // namespace ktraced::test
