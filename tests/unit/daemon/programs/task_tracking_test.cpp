// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/programs/task_tracking.h"

#include <gtest/gtest.h>

namespace ktraced {
namespace {

TEST(Tracked, IsWhatFiltersOfProcessTreesAndControlGroupsNeed) {
  TaskTracking::Tracked tracked;
  tracked.add({.include = {.pid = {1}, .uid = {2}, .comm = {"a"}}, .exclude = {.pid = {3}}});
  EXPECT_FALSE(tracked.any());
  tracked.add({.include = {.cgroup = {"/a"}}, .exclude = {}});
  EXPECT_TRUE(tracked.cgroups);
  EXPECT_TRUE(tracked.threads);
  EXPECT_FALSE(tracked.names);
  tracked.add({.include = {}, .exclude = {.follow = {1}}});
  EXPECT_TRUE(tracked.names);
  EXPECT_TRUE(tracked.cgroups) << "of the filter before";
}

}  // namespace
}  // namespace ktraced
