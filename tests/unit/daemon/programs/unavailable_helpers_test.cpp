// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/programs/unavailable_helpers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/programs/task_tracking.h"

namespace ktraced {
namespace {

using testing::HasSubstr;

TEST(UnavailableHelpers, AreNoneIfTheKernelHasRefusedNothing) {
  const Availability::Reasons nothing;
  EXPECT_TRUE(unavailable_helpers(Availability(nothing), {"kmalloc"}).empty());
}

TEST(UnavailableHelpers, HaveTheReasonAndTheEffectOfEachProgramThatTracks) {
  for (const std::string& program : TaskTracking::helpers()) {
    const Availability::Reasons refused = {{program, "out of memory"}};
    const auto helpers = unavailable_helpers(Availability(refused), {"kmalloc"});
    ASSERT_EQ(helpers.size(), 1U) << program;
    EXPECT_EQ(helpers[0].program, program);
    EXPECT_EQ(helpers[0].reason, "out of memory");
    EXPECT_FALSE(helpers[0].effect.empty()) << program;
  }
}

TEST(UnavailableHelpers, HaveThoseThatCannotBeAttached) {
  const Availability::Reasons nothing;
  Availability availability(nothing);
  availability.note_failure("child_born", "cannot attach 'child_born': out of memory");
  ASSERT_EQ(unavailable_helpers(availability, {}).size(), 1U);
  availability.clear_failure("child_born");
  EXPECT_TRUE(unavailable_helpers(availability, {}).empty());
}

TEST(UnavailableHelpers, HaveCatchersOfEventsThatAreAvailable) {
  const Availability::Reasons refused = {{"catch_kmalloc", "out of memory"},
                                         {"catch_kfree", "out of memory"},
                                         {"kfree", "this kernel has no tracepoint kfree"}};
  const auto helpers = unavailable_helpers(Availability(refused), {"kfree", "kmalloc"});
  ASSERT_EQ(helpers.size(), 1U);
  EXPECT_EQ(helpers[0].program, "catch_kmalloc");
  EXPECT_THAT(helpers[0].effect, HasSubstr("hits of kmalloc"));
}

}  // namespace
}  // namespace ktraced
