// SPDX-License-Identifier: BSD-2-Clause
#include "schema/path_arguments.h"

#include <gtest/gtest.h>

#include "schema/names.h"
#include "schema/string_arguments.h"

namespace ktraced {
namespace {

constexpr uint32_t kNativePaths = 0;

class PathArgumentsTest : public ::testing::Test {
 protected:
  // "role directory", with "-" for none; empty if it is no path.
  std::string path(std::string_view call, uint32_t arg) {
    constexpr const char* kRoles[] = {"path", "old", "new", "target", "source"};
    const auto argument = arguments_.of(kNativePaths, number(call), arg);
    if (!argument) return "";
    const std::string directory = argument->directory ? std::to_string(*argument->directory) : "-";
    return std::string(kRoles[static_cast<size_t>(argument->role)]) + " " + directory;
  }
  static int32_t number(std::string_view call) {
    return syscall_number(kNativePaths, call).value();
  }

  PathArguments arguments_;
};

TEST_F(PathArgumentsTest, HaveTheDescriptorOfTheirDirectory) {
  EXPECT_EQ(path("open", 0), "path -");
  EXPECT_EQ(path("openat", 1), "path 0");
  EXPECT_EQ(path("fanotify_mark", 4), "path 3");
  EXPECT_EQ(path("inotify_add_watch", 1), "path -") << "its descriptor is no directory";
}

TEST_F(PathArgumentsTest, HaveRolesInCallsWithTwo) {
  EXPECT_EQ(path("rename", 0), "old -");
  EXPECT_EQ(path("rename", 1), "new -");
  EXPECT_EQ(path("renameat2", 1), "old 0");
  EXPECT_EQ(path("renameat2", 3), "new 2");
  EXPECT_EQ(path("symlinkat", 0), "target -");
  EXPECT_EQ(path("symlinkat", 2), "new 1");
  EXPECT_EQ(path("mount", 0), "source -");
  EXPECT_EQ(path("mount", 1), "path -");
  EXPECT_EQ(path("pivot_root", 0), "new -");
}

TEST_F(PathArgumentsTest, AreNoOtherStrings) {
  EXPECT_EQ(path("mount", 2), "") << "a type of file systems";
  EXPECT_EQ(path("getxattr", 0), "path -");
  EXPECT_EQ(path("getxattr", 1), "");
  EXPECT_EQ(path("fsetxattr", 1), "");
  EXPECT_EQ(path("memfd_create", 0), "");
  EXPECT_EQ(path("read", 1), "");
  EXPECT_EQ(path("openat", 7), "");
  EXPECT_FALSE(arguments_.of(9, number("openat"), 1));
  EXPECT_FALSE(arguments_.of(kNativePaths, -1, 0));
  EXPECT_FALSE(arguments_.of(kNativePaths, 1 << 20, 0));
}

TEST_F(PathArgumentsTest, KnowCallsThatOpenAndSockets) {
  EXPECT_TRUE(arguments_.opens(kNativePaths, number("openat")));
  EXPECT_FALSE(arguments_.opens(kNativePaths, number("readlink")));
  EXPECT_TRUE(arguments_.has_address(kNativePaths, number("connect")));
  EXPECT_TRUE(arguments_.may_have_path(kNativePaths, number("connect")));
  EXPECT_FALSE(arguments_.may_have_path(kNativePaths, number("fsopen")));
  EXPECT_EQ(path("connect", 1), "path -");
}

TEST_F(PathArgumentsTest, OfX32CallsHaveTheBitInTheirNumber) {
  constexpr uint32_t kX32 = 2;
  constexpr int32_t kX32Bit = 0x40000000;
  EXPECT_TRUE(arguments_.of(kX32, kX32Bit | number("openat"), 1));
}

}  // namespace
}  // namespace ktraced
