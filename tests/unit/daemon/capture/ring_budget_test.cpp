// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/ring_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ktraced {
namespace {

constexpr size_t kMib = 1U << 20;
constexpr RingBudget kBudget{.ring_bytes = 4 * kMib, .total_bytes = 64 * kMib};

size_t share(size_t used, const RingRequest& request = {}, size_t cpus = 2) {
  return ring_share(kBudget, used, cpus, request).value_or(0);
}

TEST(RingShare, IsTheConfiguredSizeWhileThereIsRoom) {
  EXPECT_EQ(share(0), 4 * kMib);
  EXPECT_EQ(share(48 * kMib), 4 * kMib);
}

TEST(RingShare, IsAPowerOfTwoInHalfOfWhatIsLeft) {
  EXPECT_EQ(share(49 * kMib), 2 * kMib) << "15 MiB left, 3.75 MiB are half of each CPU's part";
  EXPECT_EQ(share(63 * kMib), kMib / 4);
  EXPECT_EQ(share(0, {}, 32), kMib);
  EXPECT_EQ(share(0, {}, 0), 4 * kMib);
}

TEST(RingShare, IsWhatIsAskedForIfItFits) {
  EXPECT_EQ(share(0, {.ring_bytes = 32 * kMib}), 32 * kMib);
  EXPECT_EQ(share(kMib, {.ring_bytes = 32 * kMib}), 0U);
  EXPECT_EQ(share(0, {.ring_bytes = kMib / 16}), kMib / 16);
}

TEST(RingShare, OfAnOrdinaryUserIsAtMostHalfOfWhatIsLeft) {
  EXPECT_EQ(share(0, {.ring_bytes = 32 * kMib, .ordinary_user = true}), 0U);
  EXPECT_EQ(share(0, {.ring_bytes = 16 * kMib, .ordinary_user = true}), 16 * kMib);
  EXPECT_EQ(share(49 * kMib, {.ordinary_user = true}), kMib);
}

TEST(RingShare, IsAnErrorWhenNotEvenTheSmallestRingFits) {
  const auto none = ring_share(kBudget, 64 * kMib - 4096, 2, {});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ExitCode::unavailable);
  EXPECT_THAT(none.error().message,
              testing::AllOf(testing::HasSubstr("64 KiB on 2 CPUs"),
                             testing::HasSubstr("63 MiB of stream.total_mb (64 MiB)")));
  EXPECT_FALSE(ring_share(kBudget, 1000 * kMib, 2, {})) << "after the budget was reduced";
}

}  // namespace
}  // namespace ktraced
