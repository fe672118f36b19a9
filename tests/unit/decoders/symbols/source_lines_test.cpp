// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/source_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <random>
#include <string>

#include "unit/support/shapes.h"

namespace ktraced {
namespace {

using test::offset_in_shapes;
using test::OwnFiles;
using test::shapes;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;

SourceLines lines_of(const std::filesystem::path& path) {
  const auto file = ElfFile::open(path);
  EXPECT_TRUE(file) << file.error().message;
  auto lines = SourceLines::start(*file, nullptr);
  EXPECT_TRUE(lines) << lines.error().message;
  return std::move(*lines);
}

std::string file_and_line(const SourceFunction& function) {
  return std::filesystem::path(function.file).filename().string() + ":" +
         std::to_string(function.line);
}

TEST(SourceLines, NamesInlinedFunctionsFromTheInsideOut) {
  const auto file = ElfFile::open(shapes("whole.so"));
  ASSERT_TRUE(file);
  auto lines = lines_of(shapes("whole.so"));
  const uint64_t begin = *file->address_of(offset_in_shapes("_ZN6shapes10hypotenuseEii"));
  bool found = false;
  for (uint64_t address = begin; address < begin + 12 && !found; address++) {
    const auto functions = lines.at(address);
    ASSERT_TRUE(functions) << functions.error().message;
    if (functions->size() != 3) continue;
    found = true;
    EXPECT_EQ((*functions)[0].function, "_ZN6shapes6squareEi");
    EXPECT_THAT(file_and_line((*functions)[0]), ::testing::AnyOf("shapes.cpp:10", "shapes.cpp:11"));
    EXPECT_EQ((*functions)[1].function, "_ZN6shapes14sum_of_squaresEii");
    EXPECT_EQ(file_and_line((*functions)[1]), "shapes.cpp:14");
    EXPECT_EQ((*functions)[2].function, "_ZN6shapes10hypotenuseEii");
    EXPECT_EQ(file_and_line((*functions)[2]), "shapes.cpp:16");
  }
  EXPECT_TRUE(found);
}

TEST(SourceLines, KnowsTheLinesOfADebugFile) {
  auto lines = lines_of(test::shapes_debug_file());
  const auto functions = lines.at(offset_in_shapes("plain") + test::kShapesBase);
  ASSERT_TRUE(functions) << functions.error().message;
  ASSERT_EQ(functions->size(), 1U);
  EXPECT_EQ(functions->front().function, "plain");
  EXPECT_THAT(file_and_line(functions->front()), ::testing::EndsWith("shapes.cpp:27"));
  EXPECT_THAT(*lines.at(0), ElementsAre());
  EXPECT_THAT(*lines.at(UINT64_MAX), ElementsAre());
}

TEST(SourceLines, KnowsTheLineWhereTheRestIsMissing) {
  const auto file = ElfFile::open(shapes("split.so"));
  ASSERT_TRUE(file);
  auto lines = lines_of(shapes("split.so"));
  bool found = false;
  for (uint64_t offset = 0x1000; offset < 0x1200; offset++) {
    const auto functions = lines.at(offset + test::kShapesBase);
    ASSERT_TRUE(functions) << functions.error().message;
    if (functions->empty() || functions->front().line != 27) continue;
    found = true;
    EXPECT_EQ(functions->front().function, "");
  }
  EXPECT_TRUE(found);
}

TEST(SourceLines, SaysThatAFileHasNone) {
  auto lines = lines_of(shapes("stripped.so"));
  for (int i = 0; i < 2; i++) {
    const auto functions = lines.at(0);
    ASSERT_FALSE(functions);
    EXPECT_EQ(functions.error().code, ExitCode::data);
    EXPECT_THAT(functions.error().message,
                HasSubstr("cannot read the lines of " + shapes("stripped.so").string() + ": "));
  }
}

TEST(SourceLines, OutlivesTheProcessThatReadsThem) {
  auto lines = lines_of(shapes("whole.so"));
  auto others = lines_of(shapes("whole.so"));
  const uint64_t plain = offset_in_shapes("plain") + test::kShapesBase;
  EXPECT_TRUE(lines.at(plain));
  ::kill(lines.process(), SIGSEGV);
  // Perhaps it had answered before.
  for (int i = 0; i < 1000 && lines.at(plain); i++) {
  }
  for (int i = 0; i < 2; i++) {
    const auto functions = lines.at(plain);
    ASSERT_FALSE(functions);
    EXPECT_THAT(functions.error().message, HasSubstr("whole.so: libdw failed at it"));
  }
  EXPECT_TRUE(others.at(plain));
}

TEST(SourceLines, SurvivesDamageAnywhere) {
  std::mt19937 random(1);
  const OwnFiles files;
  const std::string whole = test::bytes_of_file(shapes("whole.so"));
  for (int i = 0; i < 50; i++) {
    std::string bytes = whole;
    for (int change = 0; change < 8; change++)
      bytes[random() % bytes.size()] = static_cast<char>(random() % 2 == 0 ? 0xff : random());
    const auto file = ElfFile::open(files.write("file", bytes));
    if (!file) continue;
    auto lines = SourceLines::start(*file, nullptr);
    ASSERT_TRUE(lines);
    for (uint64_t offset = 0x1100; offset < 0x1180; offset += 4) {
      const auto functions = lines->at(offset + test::kShapesBase);
      EXPECT_TRUE(functions || functions.error().code == ExitCode::data);
    }
  }
}

}  // namespace
}  // namespace ktraced
