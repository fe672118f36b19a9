// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace ktraced {
namespace {

using testing::ElementsAre;

TEST(Lines, EndAtNewlinesOrTheEndOfTheText) {
  std::vector<std::string> lines;
  for_each_line("one\n\nthree", [&](std::string_view line) { lines.emplace_back(line); });
  EXPECT_THAT(lines, ElementsAre("one", "", "three"));
  for_each_line("", [](std::string_view) { ADD_FAILURE() << "an empty text has no line"; });
}

TEST(Lines, HaveNumbersBehindALabel) {
  const std::string status = "Name:\tNSpid: 1\nNgid:\t0\nNSpid:\t812\t7\t1\nNSpgid:\t9\n";
  EXPECT_EQ(numbers_behind<uint32_t>("\nNSpid:", status), (std::vector<uint32_t>{812, 7, 1}));
  EXPECT_EQ(numbers_behind<uint32_t>("\nNgid:", status), std::vector<uint32_t>{0});
  EXPECT_EQ(numbers_behind<uint32_t>("\nUid:", "\nUid:\t0\t4294967295 5"),
            (std::vector<uint32_t>{0, 4294967295, 5}));
  EXPECT_TRUE(numbers_behind<uint32_t>("\nUid:", status).empty());
  EXPECT_TRUE(numbers_behind<uint32_t>("\nName:", status).empty());
  EXPECT_TRUE(numbers_behind<uint32_t>("\nUid:", "x\nUid:").empty());
  EXPECT_EQ(numbers_behind<int64_t>("", "-1 x 2"), std::vector<int64_t>{-1});
  EXPECT_EQ(number_behind<uint32_t>("\nNSpid:", status), 812U);
  EXPECT_EQ(number_behind<uint32_t>("\nName:", status), std::nullopt);
}

TEST(Lines, AreCompleteAcrossReads) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("ktraced-lines-" + std::to_string(::getpid()));
  std::ofstream out(path);
  for (int i = 0; i < 100'000; ++i) out << "line " << i << '\n';
  out << "last";
  out.close();
  int next = 0;
  const auto read = for_each_line_of(path, [&](std::string_view line) {
    EXPECT_EQ(line, next < 100'000 ? "line " + std::to_string(next) : "last");
    ++next;
  });
  ::unlink(path.c_str());
  EXPECT_TRUE(read);
  EXPECT_EQ(next, 100'001);
}

TEST(Lines, HaveALimit) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("ktraced-lines-" + std::to_string(::getpid()));
  std::ofstream(path) << "one\n" << std::string(300'000, 'x') << "\ntwo\n";
  std::vector<std::string> lines;
  const auto read =
      for_each_line_of(path, [&](std::string_view line) { lines.emplace_back(line); });
  ::unlink(path.c_str());
  EXPECT_THAT(lines, ElementsAre("one"));
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, testing::HasSubstr(path + " has a line of 262144 bytes"));
}

TEST(Lines, CannotBeReadFromADirectory) {
  EXPECT_FALSE(for_each_line_of("/proc", [](auto) {}));
}

TEST(Error, NamesFullTablesAndMissingMemory) {
  EXPECT_THAT(errno_text(EMFILE), testing::HasSubstr("LimitNOFILE"));
  EXPECT_THAT(errno_text(ENFILE), testing::HasSubstr("fs.file-max"));
  EXPECT_EQ(errno_text(ENOMEM), "out of memory");
  EXPECT_EQ(errno_text(EACCES), "Permission denied");
}

}  // namespace
}  // namespace ktraced
