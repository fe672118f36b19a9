// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/own_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OwnDirectory : public testing::Test {
 protected:
  OwnDirectory() {
    std::string name = fs::canonical(fs::temp_directory_path()) / "ktraced-own-XXXXXX";
    root_ = ::mkdtemp(name.data());
  }
  ~OwnDirectory() override {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
  }
  static Fd open(const fs::path& path) {
    return Fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  static Result<DirectoryLock> lock(const fs::path& path,
                                    DirectoryLock::Kind kind = DirectoryLock::Kind::file) {
    return DirectoryLock::take(open(path), path, "lock", kind);
  }
  fs::path root_;
};

TEST_F(OwnDirectory, OpensPathsAsFarAsTheyExist) {
  fs::create_directories(root_ / "a");
  auto part = open_existing_part(root_ / "a/b/c/");
  ASSERT_TRUE(part);
  EXPECT_EQ(part->path, root_ / "a");
  EXPECT_EQ(part->missing, "b/c");
  EXPECT_TRUE(open_existing_part(root_ / "a")->missing.empty());
}

TEST_F(OwnDirectory, FollowsNoLinks) {
  fs::create_directories(root_ / "real/below");
  fs::create_directory_symlink(root_ / "real", root_ / "link");
  for (const char* path : {"link", "link/below", "link/missing"}) {
    auto part = open_existing_part(root_ / path);
    ASSERT_FALSE(part) << path;
    EXPECT_EQ(part.error().code, ExitCode::no_permission);
    EXPECT_THAT(part.error().message, HasSubstr((root_ / "link").string()));
  }
}

TEST_F(OwnDirectory, IsRefusedWhenWritableByOthers) {
  EXPECT_TRUE(check_own_directory(open(root_).get(), root_));
  ::chmod(root_.c_str(), 0755);
  EXPECT_TRUE(check_own_directory(open(root_).get(), root_));
  for (mode_t mode : {0770, 0702, 01777}) {
    ::chmod(root_.c_str(), mode);
    auto checked = check_own_directory(open(root_).get(), root_);
    ASSERT_FALSE(checked) << mode;
    EXPECT_THAT(checked.error().message, HasSubstr("chmod go-w " + root_.string()));
    EXPECT_EQ(check_shared_directory(open(root_).get(), root_).has_value(), mode == 01777);
  }
}

TEST_F(OwnDirectory, LockHasOneOwnerAndRemovesItsFile) {
  for (const auto kind : {DirectoryLock::Kind::file, DirectoryLock::Kind::directory}) {
    auto first = lock(root_, kind);
    ASSERT_TRUE(first);
    EXPECT_TRUE(first->held_in(root_));
    struct stat status{};
    ASSERT_EQ(::stat((root_ / "lock").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 077U, 0U);
    auto second = lock(root_, kind);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().code, ExitCode::unavailable);
    first->release();
    EXPECT_FALSE(fs::exists(root_ / "lock"));
    EXPECT_TRUE(lock(root_, kind));
  }
}

TEST_F(OwnDirectory, LockSucceedsWhenTheDirectoryIsLockedByOthers) {
  const Fd foreign = open(root_);
  ASSERT_EQ(::flock(foreign.get(), LOCK_EX | LOCK_NB), 0);
  EXPECT_TRUE(lock(root_));
}

TEST_F(OwnDirectory, LockFileIsRefusedWhenOthersCanOpenIt) {
  std::ofstream(root_ / "lock") << "";
  ::chmod((root_ / "lock").c_str(), 0644);
  auto taken = lock(root_);
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().code, ExitCode::no_permission);
  EXPECT_THAT(taken.error().message, HasSubstr("rm -r " + (root_ / "lock").string()));
  fs::remove(root_ / "lock");
  fs::create_symlink("/etc/passwd", root_ / "lock");
  EXPECT_FALSE(lock(root_));
}

TEST_F(OwnDirectory, LockFailsWhenTheDirectoryIsReplaced) {
  fs::create_directory(root_ / "d");
  auto taken = lock(root_ / "d");
  ASSERT_TRUE(taken);
  fs::rename(root_ / "d", root_ / "gone");
  fs::create_directory(root_ / "d");
  EXPECT_TRUE(taken->held());
  EXPECT_FALSE(taken->held_in(root_ / "d"));
}

}  // namespace
}  // namespace ktraced
