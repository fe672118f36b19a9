// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/selection/cgroup_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/support/packets.h"

namespace ktraced {
namespace {

using ::testing::ElementsAre;

const std::string kContainerId = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const std::string kContainerPath =
    "/kubepods.slice/kubepods-pod1b2c_3d.slice/crio-" + kContainerId + ".scope/app";

bool chosen(const std::string& text, const std::string& path, uint64_t id = 7) {
  return CgroupChoice({text}).contains(id, path);
}

TEST(CgroupChoice, HasTheGroupOfAPathAndThoseBelow) {
  for (const char* text :
       {"system.slice/a.service", "/system.slice/a.service", "/system.slice/", "system.slice", "/"})
    EXPECT_TRUE(chosen(text, "/system.slice/a.service")) << text;
  for (const char* text : {"system.slice/a", "a.service", "system.slice/a.service/b"})
    EXPECT_FALSE(chosen(text, "/system.slice/a.service")) << text;
}

TEST(CgroupChoice, TakesPathsInTheMountedFileSystem) {
  for (const char* text :
       {"/sys/fs/cgroup/system.slice/a.service", "/sys/fs/cgroup/unified/system.slice/a.service/",
        "/sys/fs/cgroup/systemd/system.slice", "/sys/fs/cgroup/system.slice",
        "/sys/fs/cgroup/unified", "/sys/fs/cgroup/"})
    EXPECT_TRUE(chosen(text, "/system.slice/a.service")) << text;
  for (const char* text : {"/sys/fs/cgroup/system.slice/b.service", "sys/fs/cgroup/system.slice",
                           "/sys/fs/cgroups/system.slice", "/sys/fs/cgroup/unified/a.service"})
    EXPECT_FALSE(chosen(text, "/system.slice/a.service")) << text;
  EXPECT_FALSE(chosen("/sys/fs/cgroup/a", "")) << "its path is unknown";
  EXPECT_THAT(CgroupChoice({"/sys/fs/cgroup/a"}).texts(), ElementsAre("/sys/fs/cgroup/a"))
      << "as typed";
}

TEST(CgroupChoice, HasAGroupByItsId) {
  EXPECT_TRUE(chosen("7", ""));
  EXPECT_FALSE(chosen("70", ""));
}

TEST(CgroupChoice, HasTheGroupsOfAContainer) {
  EXPECT_TRUE(chosen(kContainerId, kContainerPath));
  EXPECT_TRUE(chosen(kContainerId.substr(0, 12), kContainerPath));
  EXPECT_FALSE(chosen(kContainerId.substr(0, 11), kContainerPath)) << "too short to be sure";
  EXPECT_TRUE(chosen("1b2c-3d", kContainerPath)) << "its pod";
  EXPECT_TRUE(chosen("web", "/lxc.payload.web"));
}

TEST(CgroupChoice, FollowsThreadsThatAreMoved) {
  NameTable names;
  for (const auto& record :
       {test::task_in_cgroup(5, 100, 5, 11), test::task_in_cgroup(5, 200, 5, 22),
        test::cgroup_path(11, "/a"), test::cgroup_path(22, "/b")})
    names.apply(RecordView(record.data()));
  const CgroupChoice choice({"b"});
  EXPECT_FALSE(choice.contains(5, 150, names));
  EXPECT_TRUE(choice.contains(5, 250, names));
  EXPECT_FALSE(choice.contains(6, 250, names)) << "nothing is known of this thread";
}

}  // namespace
}  // namespace ktraced
