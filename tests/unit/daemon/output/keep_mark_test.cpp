// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/keep_mark.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "unit/support/hostile_files.h"
#include "unit/support/no_descriptors.h"
#include "unit/support/trace_directory.h"

namespace ktraced::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class KeepMark : public ::testing::Test {
 protected:
  KeepMark() { fs::create_directory(trace_); }

  TempDirectory root_;
  const fs::path trace_ = root_.path() / "trace";
  const fs::path mark_ = trace_ / kKeepMark;
};

TEST_F(KeepMark, IsMadeAndRemovedAnyNumberOfTimes) {
  EXPECT_EQ(has_keep_mark(trace_), false);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(set_keep_mark(trace_, true));
  EXPECT_EQ(has_keep_mark(trace_), true);
  EXPECT_TRUE(fs::is_empty(mark_));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(set_keep_mark(trace_, false));
  EXPECT_EQ(has_keep_mark(trace_), false);
  EXPECT_TRUE(fs::is_empty(trace_));
}

TEST_F(KeepMark, IsNoFileOfAnotherKind) {
  for (const WrongKind& kind : wrong_kinds()) {
    kind.make(mark_);
    EXPECT_EQ(has_keep_mark(trace_), false) << kind.called;
    const auto set = set_keep_mark(trace_, true);
    ASSERT_FALSE(set) << kind.called;
    EXPECT_EQ(set.error().code, ExitCode::data);
    EXPECT_THAT(set.error().message, HasSubstr("kept is " + kind.called));
    fs::remove(mark_);
  }
}

TEST_F(KeepMark, DoesNotFollowLinks) {
  write_file(root_.path() / "victim", "content");
  fs::create_symlink(root_.path() / "victim", mark_);
  EXPECT_FALSE(set_keep_mark(trace_, true));
  EXPECT_TRUE(set_keep_mark(trace_, false)) << "removes the link itself";
  EXPECT_EQ(read_file(root_.path() / "victim"), "content");
  fs::create_symlink(root_.path() / "new", mark_);
  EXPECT_FALSE(set_keep_mark(trace_, true));
  EXPECT_FALSE(fs::exists(root_.path() / "new"));
  fs::remove(mark_);

  const fs::path link = root_.path() / "link";
  fs::create_directory_symlink(trace_, link);
  const auto linked = set_keep_mark(link, true);
  ASSERT_FALSE(linked);
  EXPECT_EQ(linked.error().code, ExitCode::data);
  EXPECT_FALSE(fs::exists(mark_));
  EXPECT_TRUE(set_keep_mark(trace_, true));
  EXPECT_EQ(has_keep_mark(link), false);
}

TEST_F(KeepMark, CountsOnlyIfItBelongsToRootOrToThisUser) {
  if (::geteuid() != 0) return;  // only root can give files away
  EXPECT_TRUE(set_keep_mark(trace_, true));
  ASSERT_EQ(::chown(mark_.c_str(), 12345, 12345), 0);
  EXPECT_EQ(has_keep_mark(trace_), false);
  const auto set = set_keep_mark(trace_, true);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, ExitCode::no_permission);
  EXPECT_THAT(set.error().message, HasSubstr("belongs to uid 12345"));
}

TEST_F(KeepMark, NeedsATraceDirectory) {
  EXPECT_EQ(has_keep_mark(root_.path() / "missing"), false);
  const auto set = set_keep_mark(root_.path() / "missing", true);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, ExitCode::data);
}

TEST_F(KeepMark, IsUnknownWhenNoDescriptorIsLeft) {
  const NoDescriptors none;
  EXPECT_EQ(has_keep_mark(trace_), std::nullopt);
  const auto set = set_keep_mark(trace_, true);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, ExitCode::io);
  EXPECT_THAT(set.error().message, HasSubstr("too many open files"));
}

}  // namespace
}  // namespace ktraced::test
