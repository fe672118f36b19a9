// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/cgroup_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uint64_t kMib = uint64_t{1} << 20;

// A directory that looks like a mounted hierarchy.
class CgroupMemory : public testing::Test {
 protected:
  CgroupMemory() {
    std::string name = testing::TempDir() + "cgroups-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    point = name;
  }
  ~CgroupMemory() override { fs::remove_all(point); }

  void write(const fs::path& group, const char* file, const std::string& text) const {
    fs::create_directories(point / group);
    std::ofstream(point / group / file) << text;
  }
  void limit(const fs::path& group, const std::string& most, uint64_t used) const {
    write(group, "memory.max", most + "\n");
    write(group, "memory.current", std::to_string(used) + "\n");
  }

  fs::path point;
};

TEST_F(CgroupMemory, IsThatOfEveryAncestor) {
  limit("a/b/c", std::to_string(100 * kMib), 10 * kMib);
  limit("a/b", "max", 20 * kMib);
  limit("a", std::to_string(80 * kMib), 30 * kMib);
  for (const char* group : {"/a/b/c", "/a/b/c/"}) {
    const auto limits = memory_limits(point, group);
    ASSERT_EQ(limits.size(), 2U);
    EXPECT_EQ(limits[0].group, point / "a/b/c");
    EXPECT_EQ(limits[0].limit, 100 * kMib);
    EXPECT_EQ(limits[0].left, 90 * kMib);
    EXPECT_EQ(limits[1].group, point / "a");
    EXPECT_EQ(limits[1].limit, 80 * kMib);
    EXPECT_EQ(limits[1].left, 50 * kMib);
  }
}

TEST_F(CgroupMemory, IsUnknownWithoutALimit) {
  limit("a", "max", 10 * kMib);
  EXPECT_TRUE(memory_limits(point, "/a").empty());
  EXPECT_TRUE(memory_limits(point, "/").empty());
  EXPECT_TRUE(memory_limits(point, "/nosuch").empty());
  write("v1", "memory.limit_in_bytes", "9223372036854771712\n");
  write("v1", "memory.usage_in_bytes", "4096\n");
  EXPECT_TRUE(memory_limits(point, "/v1").empty());
  EXPECT_TRUE(check_memory_room({}, 1000 * kMib));
}

TEST_F(CgroupMemory, CountsCachedPagesAsFree) {
  limit("a", std::to_string(100 * kMib), 90 * kMib);
  write("a", "memory.stat",
        "anon 1\nfile 70000000\ninactive_file 20971520\nactive_file 10485760\n"
        "slab_reclaimable 1048576\nshmem 1\n");
  EXPECT_EQ(memory_limits(point, "/a").at(0).left, 41 * kMib);
  limit("a", std::to_string(100 * kMib), kMib);  // the files are not read at one moment
  EXPECT_EQ(memory_limits(point, "/a").at(0).left, 100 * kMib);
}

TEST_F(CgroupMemory, IsReadFromTheFirstVersionToo) {
  write("a", "memory.limit_in_bytes", std::to_string(100 * kMib) + "\n");
  write("a", "memory.usage_in_bytes", std::to_string(120 * kMib) + "\n");
  EXPECT_EQ(memory_limits(point, "/a").at(0).left, 0U);
  write("a", "memory.stat", "inactive_file 7\ntotal_inactive_file 31457280\n");
  EXPECT_EQ(memory_limits(point, "/a").at(0).left, 10 * kMib);
}

// The limit is that of the mount point, below which every group is.
TEST_F(CgroupMemory, IsLookedForAgainUntilItsMountIsFound) {
  limit("", std::to_string(100 * kMib), 10 * kMib);
  int looks = 0;
  bool either = false;  // not every machine has groups of both versions
  const auto find = [&]() -> Result<CgroupMount> {
    if (++looks == 1) return fail(ExitCode::os, "no more descriptors");
    return CgroupMount{.root = "/", .point = point};
  };
  const auto none = []() -> Result<CgroupMount> { return fail(ExitCode::usage, "no mount"); };
  for (const bool second : {true, false}) {
    looks = 0;
    const MemoryLimits::Find version2 = second ? MemoryLimits::Find(find) : none;
    const MemoryLimits::Find version1 = second ? MemoryLimits::Find(none) : find;
    MemoryLimits limits(version2, version1);
    EXPECT_TRUE(limits.read().empty());
    const size_t found = limits.read().size();
    EXPECT_EQ(looks, 2);
    if (found != 0) {
      EXPECT_EQ(limits.read().back().group, point / "");
      EXPECT_EQ(looks, 2) << "it was found";
    }
    either |= found != 0;
  }
  EXPECT_TRUE(either) << "/proc/self/cgroup has no groups";
}

std::vector<MemoryLimit> one_limit(uint64_t limit_mib, uint64_t left_mib) {
  return {{.group = "/x", .limit = limit_mib * kMib, .left = left_mib * kMib}};
}

TEST_F(CgroupMemory, RefusesWhatExceedsItWithTheNumbersAndTheRemedy) {
  EXPECT_TRUE(check_memory_room(one_limit(100, 48), 40 * kMib));
  const auto refused = check_memory_room(one_limit(100, 48), 41 * kMib);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ExitCode::os) << "a later start may find more";
  EXPECT_EQ(refused.error().message,
            "the memory limit of 100 MiB of the control group /x leaves 40 MiB for rings now "
            "(MemoryMax= of a service raises it)");
  EXPECT_THAT(check_memory_room(one_limit(20, 1), 1).error().message, HasSubstr("leaves 0 MiB"));
}

TEST_F(CgroupMemory, RefusesForEverWhatExceedsTheWholeLimit) {
  EXPECT_TRUE(check_memory_limit(one_limit(100, 90), 92 * kMib));
  for (const auto& refused : {check_memory_limit(one_limit(100, 90), 93 * kMib),
                              check_memory_room(one_limit(100, 90), 93 * kMib)}) {
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::unavailable);
    EXPECT_EQ(refused.error().message,
              "the memory limit of 100 MiB of the control group /x is too low for them (MemoryMax= "
              "of a service raises it)");
  }
}

// An ancestor that others fill leaves less, but the limit below it decides what is possible.
TEST_F(CgroupMemory, RefusesForEverWhatExceedsTheLowestLimitOfAllAncestors) {
  limit("slice/service", std::to_string(100 * kMib), 10 * kMib);
  limit("slice", std::to_string(200 * kMib), 150 * kMib);
  const auto limits = memory_limits(point, "/slice/service");
  const auto never = check_memory_room(limits, 95 * kMib);
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, ExitCode::unavailable);
  EXPECT_THAT(never.error().message,
              HasSubstr("100 MiB of the control group " + (point / "slice/service").string()));
  const auto now = check_memory_room(limits, 60 * kMib);
  ASSERT_FALSE(now);
  EXPECT_EQ(now.error().code, ExitCode::os);
  EXPECT_THAT(now.error().message, HasSubstr((point / "slice").string() + " leaves 42 MiB"));
  EXPECT_TRUE(check_memory_room(limits, 42 * kMib));
}

}  // namespace
}  // namespace ktraced
