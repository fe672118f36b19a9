// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/programs/availability.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

const Availability::Reasons kOldKernel = {{"oom_mark", "this kernel has no tracepoint for it"}};

TEST(Availability, ReportsWhatTheKernelDoesNotSupport) {
  const Availability availability(kOldKernel);
  EXPECT_FALSE(availability.supports("oom_mark"));
  EXPECT_TRUE(availability.supports("kmalloc"));
  ASSERT_NE(availability.why_not("oom_mark"), nullptr);
  EXPECT_EQ(*availability.why_not("oom_mark"), "this kernel has no tracepoint for it");
  EXPECT_EQ(availability.failure("oom_mark"), nullptr);
  EXPECT_EQ(availability.why_not("kmalloc"), nullptr);
}

TEST(Availability, KeepsTheFirstFailureUntilItIsCleared) {
  Availability availability(kOldKernel);
  EXPECT_TRUE(availability.note_failure("irq:irq_handler_entry", "no memory"));
  EXPECT_FALSE(availability.note_failure("irq:irq_handler_entry", "no permission"));
  ASSERT_NE(availability.failure("irq:irq_handler_entry"), nullptr);
  EXPECT_EQ(*availability.why_not("irq:irq_handler_entry"), "no memory");
  EXPECT_TRUE(availability.supports("irq:irq_handler_entry"));
  availability.clear_failure("irq:irq_handler_entry");
  EXPECT_EQ(availability.why_not("irq:irq_handler_entry"), nullptr);
  EXPECT_TRUE(availability.note_failure("irq:irq_handler_entry", "no permission"));
}

TEST(Availability, RestoresTheFailuresBeforeAChange) {
  Availability availability(kOldKernel);
  availability.note_failure("probe:a", "first");
  const auto before = availability.failures();
  availability.clear_failure("probe:a");
  availability.note_failure("probe:b", "second");
  availability.restore_failures(before);
  EXPECT_NE(availability.failure("probe:a"), nullptr);
  EXPECT_EQ(availability.failure("probe:b"), nullptr);
}

}  // namespace
}  // namespace ktraced
