// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/cgroup_mount.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ktraced {
namespace {

TEST(CgroupMount, HasThePathsOfDirectoriesBelowItsPoint) {
  const CgroupMount mount{.root = "/", .point = "/sys/fs/cgroup"};
  EXPECT_EQ(below_mount(mount, "/sys/fs/cgroup/x/y"), "x/y");
  EXPECT_EQ(below_mount(mount, "/sys//fs/cgroup//x"), "x");
  EXPECT_EQ(below_mount(mount, "/sys/fs/cgroup"), "");
  for (const char* path : {"/x/y", "x/y", "/sys/fs", "/sys/fs/cgroups/x", "sys/fs/cgroup/x", ""})
    EXPECT_EQ(below_mount(mount, path), std::nullopt) << path;
}

TEST(CgroupMount, IsLikelyThatOfThisMachineElseThatOfMost) {
  const auto mounts = likely_cgroup_mounts();
  ASSERT_GE(mounts.size(), 3U);
  const auto own = cgroup2_mount();
  EXPECT_TRUE(!own || mounts.front().point == own->point) << mounts.front().point;
  EXPECT_EQ(mounts.back().point, "/sys/fs/cgroup") << "contains the others";
  for (const char* path : {"/sys/fs/cgroup/unified/a/b", "/sys/fs/cgroup/systemd/a/b"})
    EXPECT_TRUE(std::ranges::any_of(mounts, [&](const CgroupMount& mount) {
      return below_mount(mount, path) == "a/b";
    })) << path;
}

TEST(CgroupMount, IsThatOfThisMachine) {
  const auto mount = cgroup2_mount();
  if (!mount) {  // as in a container that does not mount it
    EXPECT_EQ(mount.error().message, "no cgroup2 file system is mounted");
    return;
  }
  EXPECT_TRUE(std::filesystem::exists(mount->point / "cgroup.procs")) << mount->point;
}

}  // namespace
}  // namespace ktraced
