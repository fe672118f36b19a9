// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/cgroup_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

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

TEST_F(CgroupMemory, IsThatOfTheAncestorThatLeavesLeast) {
  limit("a/b", std::to_string(100 * kMib), 10 * kMib);
  limit("a", std::to_string(80 * kMib), 30 * kMib);
  const auto room = memory_room(point, "/a/b");
  ASSERT_TRUE(room);
  EXPECT_EQ(room->group, point / "a");
  EXPECT_EQ(room->limit, 80 * kMib);
  EXPECT_EQ(room->left, 50 * kMib);
  EXPECT_EQ(memory_room(point, "/a/b/").value().left, 50 * kMib);
}

TEST_F(CgroupMemory, IsUnknownWithoutALimit) {
  limit("a", "max", 10 * kMib);
  EXPECT_FALSE(memory_room(point, "/a"));
  EXPECT_FALSE(memory_room(point, "/"));
  EXPECT_FALSE(memory_room(point, "/nosuch"));
  write("v1", "memory.limit_in_bytes", "9223372036854771712\n");
  write("v1", "memory.usage_in_bytes", "4096\n");
  EXPECT_FALSE(memory_room(point, "/v1"));
  EXPECT_TRUE(check_memory_room(std::nullopt, 1000 * kMib));
}

TEST_F(CgroupMemory, CountsCachedPagesAsFree) {
  limit("a", std::to_string(100 * kMib), 90 * kMib);
  write("a", "memory.stat",
        "anon 1\nfile 70000000\ninactive_file 20971520\nactive_file 10485760\n"
        "slab_reclaimable 1048576\nshmem 1\n");
  EXPECT_EQ(memory_room(point, "/a").value().left, 41 * kMib);
  limit("a", std::to_string(100 * kMib), kMib);  // the files are not read at one moment
  EXPECT_EQ(memory_room(point, "/a").value().left, 100 * kMib);
}

TEST_F(CgroupMemory, IsReadFromTheFirstVersionToo) {
  write("a", "memory.limit_in_bytes", std::to_string(100 * kMib) + "\n");
  write("a", "memory.usage_in_bytes", std::to_string(120 * kMib) + "\n");
  EXPECT_EQ(memory_room(point, "/a").value().left, 0U);
  write("a", "memory.stat", "inactive_file 7\ntotal_inactive_file 31457280\n");
  EXPECT_EQ(memory_room(point, "/a").value().left, 10 * kMib);
}

TEST_F(CgroupMemory, RefusesWhatExceedsItWithTheNumbersAndTheRemedy) {
  const MemoryRoom room{.group = "/sys/fs/cgroup/x", .limit = 100 * kMib, .left = 48 * kMib};
  EXPECT_TRUE(check_memory_room(room, 40 * kMib));
  const auto refused = check_memory_room(room, 41 * kMib);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ExitCode::os) << "a later start may find more";
  EXPECT_EQ(refused.error().message,
            "the memory limit of 100 MiB of the control group /sys/fs/cgroup/x leaves 40 MiB for "
            "rings now (MemoryMax= of a service raises it)");
  EXPECT_THAT(check_memory_room(MemoryRoom{.group = "/x", .limit = 20 * kMib, .left = kMib}, 1)
                  .error()
                  .message,
              HasSubstr("leaves 0 MiB"));
}

TEST_F(CgroupMemory, RefusesForEverWhatExceedsTheWholeLimit) {
  const MemoryRoom room{.group = "/x", .limit = 100 * kMib, .left = 90 * kMib};
  EXPECT_TRUE(check_memory_limit(room, 92 * kMib));
  for (const auto& check : {check_memory_limit, check_memory_room}) {
    const auto refused = check(room, 93 * kMib);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ExitCode::unavailable);
    EXPECT_EQ(refused.error().message,
              "the memory limit of 100 MiB of the control group /x is too low for it (MemoryMax= "
              "of a service raises it)");
  }
}

}  // namespace
}  // namespace ktraced
