// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/partial_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace ktraced {
namespace {

namespace fs = std::filesystem;

class PartialDirectoryTest : public testing::Test {
 protected:
  PartialDirectoryTest() {
    std::string name = fs::temp_directory_path() / "ktraced_test_XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  ~PartialDirectoryTest() override { fs::remove_all(root_); }
  [[nodiscard]] fs::path whole() const { return root_ / "whole"; }
  [[nodiscard]] fs::path partial() const { return root_ / "whole.partial"; }
  static mode_t mode_of(const fs::path& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 0777;
  }
  static std::string text_of(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  fs::path root_;
};

TEST_F(PartialDirectoryTest, HasItsNameWhenItIsWhole) {
  const mode_t umask_before = ::umask(0);
  PartialDirectory directory(whole(), "inner");
  ASSERT_TRUE(directory.make());
  EXPECT_EQ(directory.path(), partial());
  ASSERT_TRUE(directory.write("a", "old"));
  ASSERT_TRUE(directory.write("a", "new"));
  ASSERT_TRUE(directory.create("b"));
  ASSERT_TRUE(directory.finish());
  ::umask(umask_before);
  EXPECT_FALSE(fs::exists(partial()));
  EXPECT_EQ(text_of(whole() / "a"), "new");
  EXPECT_EQ(mode_of(whole() / "inner"), 0750U);
  EXPECT_EQ(mode_of(whole() / "a"), 0640U);
  EXPECT_EQ(mode_of(whole() / "inner/b"), 0640U);
  EXPECT_FALSE(fs::exists(whole() / "inner/.new"));
}

TEST_F(PartialDirectoryTest, IsRemovedUnlessItIsFinishedOrKept) {
  {
    PartialDirectory directory(whole(), "inner");
    ASSERT_TRUE(directory.make());
  }
  EXPECT_FALSE(fs::exists(partial()));
  {
    PartialDirectory directory(whole(), "inner");
    ASSERT_TRUE(directory.make());
    directory.keep();
  }
  EXPECT_TRUE(fs::exists(partial()));
  EXPECT_FALSE(PartialDirectory(whole(), "inner").make()) << "it exists";
  EXPECT_TRUE(fs::exists(partial())) << "that of another is not removed";
}

TEST_F(PartialDirectoryTest, FollowsNoLinks) {
  fs::create_directory(root_ / "elsewhere");
  fs::create_directory_symlink(root_ / "elsewhere", partial());
  EXPECT_FALSE(PartialDirectory(whole(), "inner").make());
  fs::remove(partial());

  PartialDirectory directory(whole(), "inner");
  ASSERT_TRUE(directory.make());
  std::ofstream(root_ / "target") << "kept";
  fs::create_symlink(root_ / "target", partial() / "inner/.new");
  fs::create_symlink(root_ / "target", partial() / "inner/b");
  EXPECT_FALSE(directory.write("a", "text"));
  EXPECT_FALSE(directory.create("b"));
  EXPECT_EQ(text_of(root_ / "target"), "kept");
}

}  // namespace
}  // namespace ktraced
