// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/file_analysis.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "unit/support/decoder_fixture.h"

namespace ktraced::test {
namespace {

class FileAnalysisTest : public DecoderTest {
 protected:
  static constexpr uint32_t kBash = 3352, kNginx = 812;
  static constexpr int32_t kOpenFile = 2, kStatFile = 4, kRenameFile = 82;

  static CallPath path(std::string text, PathRole role = PathRole::path) {
    return {.pointer = 0x1000, .role = role, .text = std::move(text), .directory = {}};
  }
  void call(uint32_t tid, int32_t nr, int64_t ret, std::vector<CallPath> paths,
            uint64_t end_ns = 1050) {
    analysis_.on_path_call({.nr = nr,
                            .tid = tid,
                            .begin_ns = 1000,
                            .end_ns = end_ns,
                            .ret = ret,
                            .unknown = unknown_,
                            .paths = std::move(paths),
                            .met = kAllMet,
                            .names = &names_});
  }
  const FilePathRow& row(const std::string& text) {
    for (const FilePathRow& each : analysis_.paths())
      if (each.path.text == text) return each;
    static const FilePathRow kNone;
    return kNone;
  }

  Unknown unknown_ = Unknown::none;
  FileAnalysis analysis_{3};
};

TEST_F(FileAnalysisTest, CountsCallsOfAPath) {
  call(kBash, kOpenFile, 3, {path("/a")});
  call(kNginx, kOpenFile, -2, {path("/a")});
  call(kNginx, kStatFile, 0, {path("/a")}, 1100);
  const FilePathRow& a = row("/a");
  EXPECT_EQ(a.use.calls, 3U);
  EXPECT_EQ(a.use.opens, 1U) << "only what opened it";
  EXPECT_EQ(a.use.failed, 1U);
  EXPECT_EQ(a.use.errors.at(2), 1U);
  EXPECT_EQ(a.use.total_ns, 200U);
  EXPECT_EQ(a.use.max_ns, 100U);
  EXPECT_EQ(a.processes, 2U);
  EXPECT_EQ(analysis_.process_paths().size(), 2U);
  EXPECT_EQ(analysis_.calls().size(), 2U);
}

TEST_F(FileAnalysisTest, CountsACallWithTwoPathsOnceForItsProcess) {
  call(kBash, kRenameFile, 0, {path("/a", PathRole::old_path), path("/b", PathRole::new_path)});
  EXPECT_EQ(analysis_.paths().size(), 2U);
  ASSERT_EQ(analysis_.processes().size(), 1U);
  EXPECT_EQ(analysis_.processes()[0].use.calls, 1U);
  EXPECT_EQ(analysis_.processes()[0].paths, 2U);
  EXPECT_EQ(analysis_.calls()[0].use.calls, 1U);
}

TEST_F(FileAnalysisTest, SeparatesPathsByRoleAndDirectory) {
  CallPath at_five = path("a");
  at_five.directory = 5;
  CallPath unreadable = path("");
  unreadable.unreadable = true;
  CallPath absolute = path("/a");
  absolute.directory = 5;
  CallPath at_cwd = path("a");
  at_cwd.directory = AT_FDCWD;
  FileAnalysis analysis;
  for (const CallPath& each : {path("a"), at_cwd, at_five, path("a", PathRole::old_path),
                               unreadable, absolute, path("/a")})
    analysis.on_path_call({.nr = kOpenFile, .tid = kBash, .paths = {each}, .names = &names_});
  EXPECT_EQ(analysis.paths().size(), 5U)
      << "open() and openat(AT_FDCWD) name the same file; an absolute path is of no directory";
}

TEST_F(FileAnalysisTest, SumsUpFailuresOfAKind) {
  call(kBash, kOpenFile, -2, {path("/a")}, 1050);
  call(kBash, kOpenFile, -2, {path("/a")}, 1500);
  call(kBash, kOpenFile, -13, {path("/a")}, 1050);
  call(kNginx, kOpenFile, -2, {path("/a")}, 1050);
  ASSERT_EQ(analysis_.failures().size(), 3U);
  const FileFailureRow& first = analysis_.failures()[0];
  EXPECT_EQ(first.error, 2);
  EXPECT_EQ(first.count, 2U);
  EXPECT_EQ(first.last_ns, 1500U);
}

TEST_F(FileAnalysisTest, DoesNotCountResultsThatAreNotKnown) {
  unknown_ = Unknown::lost;
  call(kBash, kOpenFile, -2, {path("/a")});
  EXPECT_EQ(row("/a").use.calls, 1U);
  EXPECT_EQ(row("/a").use.uncertain, 1U);
  EXPECT_EQ(row("/a").use.failed, 0U);
  EXPECT_EQ(row("/a").use.timed, 0U);
  EXPECT_TRUE(analysis_.failures().empty());
  EXPECT_EQ(analysis_.uncertain(), 1U);
}

TEST_F(FileAnalysisTest, LeavesOutCallsThatNameNothing) {
  CallPath none = path("");
  none.pointer = 0;
  call(kBash, kOpenFile, 0, {none});
  EXPECT_EQ(analysis_.unnamed(), 1U);
  EXPECT_TRUE(analysis_.paths().empty());
  EXPECT_TRUE(analysis_.processes().empty());
}

TEST_F(FileAnalysisTest, CountsRowsBeyondTheLimitTogether) {
  for (int i = 0; i < 100; ++i) call(kBash, kOpenFile, -2, {path("/" + std::to_string(i))});
  EXPECT_EQ(analysis_.paths().size(), 4U);
  EXPECT_TRUE(analysis_.paths().back().others);
  EXPECT_EQ(analysis_.paths().back().use.calls, 97U);
  EXPECT_EQ(analysis_.process_paths().back().use.calls, 97U);
  EXPECT_EQ(analysis_.failures().back().count, 97U);
  EXPECT_TRUE(analysis_.failures().back().others);
}

}  // namespace
}  // namespace ktraced::test
