// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/cgroup_mount.h"

#include <gtest/gtest.h>

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
