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

// Are both the same directory?
bool is_open_at(const Result<Fd>& fd, const fs::path& path) {
  struct stat opened{}, status{};
  return fd && ::fstat(fd->get(), &opened) == 0 && ::stat(path.c_str(), &status) == 0 &&
         opened.st_ino == status.st_ino && opened.st_dev == status.st_dev;
}

TEST_F(OwnDirectory, FollowsOwnLinks) {
  fs::create_directories(root_ / "real/below");
  fs::create_directory_symlink(root_ / "real", root_ / "absolute");
  fs::create_directory_symlink("../real/.//below/", root_ / "real/relative");
  for (const char* path : {"real/below", "real/below/", "absolute/below", "absolute/relative",
                           "real/../absolute/relative/."})
    EXPECT_TRUE(is_open_at(open_trusted_directory(root_ / path), root_ / "real/below")) << path;
  EXPECT_TRUE(is_open_at(open_trusted_directory(""), "."));
  EXPECT_TRUE(is_open_at(open_trusted_directory("/"), "/"));
  fs::create_symlink("loop", root_ / "loop");
  std::ofstream(root_ / "file") << "x";
  for (const char* path : {"loop", "file", "file/below", "missing", "real/missing"}) {
    const auto opened = open_trusted_directory(root_ / path);
    ASSERT_FALSE(opened) << path;
    EXPECT_EQ(opened.error().code, ExitCode::io);
    EXPECT_THAT(opened.error().message, HasSubstr((root_ / path).string()));
  }
}

TEST_F(OwnDirectory, MakesWhatIsMissing) {
  fs::create_directory_symlink("real", root_ / "link");
  fs::create_directory(root_ / "real");
  const auto made = open_trusted_directory(root_ / "link/a/b", Missing::is_made);
  EXPECT_TRUE(is_open_at(made, root_ / "real/a/b"));
  EXPECT_EQ(open_trusted_directory("/proc/none/x", Missing::is_made).error().code, ExitCode::io);
}

TEST_F(OwnDirectory, MakesNothingInDirectoriesOfOtherUsers) {
  if (::geteuid() != 0) return;  // only root can give directories away
  fs::create_directories(root_ / "theirs/existing");
  ASSERT_EQ(::chown((root_ / "theirs").c_str(), 54321, 54321), 0);
  EXPECT_TRUE(open_trusted_directory(root_ / "theirs/existing/new", Missing::is_made));
  const auto made = open_trusted_directory(root_ / "theirs/missing", Missing::is_made);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ExitCode::no_permission);
  EXPECT_FALSE(fs::exists(root_ / "theirs/missing"));
}

TEST_F(OwnDirectory, FollowsNoLinksOfOtherUsers) {
  if (::geteuid() != 0) return;  // only root can give links away
  fs::create_directories(root_ / "real/below");
  fs::create_directory_symlink(root_ / "real", root_ / "link");
  ASSERT_EQ(::lchown((root_ / "link").c_str(), 54321, 54321), 0);
  fs::create_directory_symlink("link/below", root_ / "own");
  for (const char* path : {"link", "link/below", "link/missing", "own"}) {
    const auto opened = open_trusted_directory(root_ / path, Missing::is_made);
    ASSERT_FALSE(opened) << path;
    EXPECT_EQ(opened.error().code, ExitCode::no_permission);
    EXPECT_THAT(opened.error().message, HasSubstr("'link' in "));
  }
  EXPECT_FALSE(fs::exists(root_ / "real/missing"));
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
    EXPECT_TRUE(first->held_in(open(root_).get()));
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
  EXPECT_FALSE(taken->held_in(open(root_ / "d").get()));
}

}  // namespace
}  // namespace ktraced
