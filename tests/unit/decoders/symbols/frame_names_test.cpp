// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/frame_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <vector>

#include "unit/support/shapes.h"

namespace ktraced {
namespace {

using test::offset_in_shapes;
using test::OwnFiles;
using test::shapes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

FrameNames::Options without_debug_files() { return {.debug_files = {.directory = "/nowhere"}}; }
FrameNames::Options with_lines() {
  return {.debug_files = {.directory = shapes("debug")}, .lines = true};
}

std::vector<std::string> texts(const std::vector<FrameName>& names) {
  std::vector<std::string> found;
  for (const FrameName& name : names) found.push_back(name.text());
  return found;
}

TEST(FrameNames, NamesAFunctionByFileAndOffset) {
  FrameNames names(without_debug_files());
  EXPECT_THAT(texts(names.at(shapes("whole.so"), test::kShapesId,
                             offset_in_shapes("_ZN6shapes10hypotenuseEii") + 3)),
              ElementsAre("shapes::hypotenuse(int, int)+0x3"));
  EXPECT_THAT(texts(names.at(shapes("stripped.so"), test::kShapesId, offset_in_shapes("plain"))),
              ElementsAre("plain+0x0"));
  EXPECT_THAT(names.problems(), IsEmpty());
}

TEST(FrameNames, TakesTheNamesOfAStrippedFileFromItsDebugFile) {
  const uint64_t hidden = test::offset_of_hidden();
  FrameNames without(without_debug_files());
  EXPECT_THAT(without.at(shapes("stripped.so"), test::kShapesId, hidden), IsEmpty());
  FrameNames names({.debug_files = {.directory = shapes("debug")}});
  EXPECT_THAT(texts(names.at(shapes("stripped.so"), test::kShapesId, hidden)),
              ElementsAre("hidden(int)+0x0"));
  EXPECT_THAT(names.problems(), IsEmpty());
}

TEST(FrameNames, AddsLinesAndInlinedFunctionsOnRequest) {
  const uint64_t begin = offset_in_shapes("_ZN6shapes10hypotenuseEii");
  for (const char* file : {"whole.so", "stripped.so"}) {
    FrameNames names(with_lines());
    std::vector<FrameName> found;
    for (uint64_t offset = begin; offset < begin + 12 && found.size() != 3; offset++)
      found = names.at(shapes(file), test::kShapesId, offset);
    EXPECT_THAT(names.problems(), IsEmpty());
    ASSERT_EQ(found.size(), 3U);
    EXPECT_THAT(found[0].text(), StartsWith("shapes::square(int) [inlined] at /"));
    EXPECT_THAT(found[1].text(), ::testing::EndsWith("/shapes.cpp:14"));
    EXPECT_THAT(found[2].text(), StartsWith("shapes::hypotenuse(int, int)+0x"));
    EXPECT_EQ(found[2].line, 16U);
  }
}

TEST(FrameNames, HasTheSameNamesWithLines) {
  FrameNames names(without_debug_files()), lines(with_lines());
  for (uint64_t offset = 0x1000; offset < 0x1200; offset++) {
    const auto without = names.at(shapes("whole.so"), test::kShapesId, offset);
    const auto with = lines.at(shapes("whole.so"), test::kShapesId, offset);
    ASSERT_EQ(without.empty(), with.empty()) << offset;
    if (without.empty()) continue;
    EXPECT_EQ(without.back().function, with.back().function);
    EXPECT_EQ(without.back().offset, with.back().offset);
  }
}

TEST(FrameNames, UsesNothingOfAFileThatWasReplaced) {
  FrameNames names(without_debug_files());
  EXPECT_THAT(names.at(shapes("whole.so"), "0123456789abcdee", offset_in_shapes("plain")),
              IsEmpty());
  EXPECT_THAT(names.at(shapes("whole.so"), "", offset_in_shapes("plain")), IsEmpty());
  EXPECT_THAT(
      names.problems(),
      ElementsAre(HasSubstr("whole.so: it is another file now (its build id is 0123456789abcdef, "
                            "not 0123456789abcdee)"),
                  HasSubstr("whole.so: it had no build id, so it may be another file now")));
  EXPECT_THAT(texts(names.at(shapes("whole.so"), test::kShapesId, offset_in_shapes("plain"))),
              ElementsAre("plain+0x0"));
}

TEST(FrameNames, SaysOnceWhatIsWrongWithAFile) {
  const OwnFiles files;
  ::mkfifo((files / "fifo").c_str(), 0600);
  const auto text = files.write("text", "text");
  FrameNames names(with_lines());
  for (int i = 0; i < 3; i++) {
    EXPECT_THAT(names.at(files / "gone", "ab", 0), IsEmpty());
    EXPECT_THAT(names.at(files / "fifo", "ab", 0), IsEmpty());
    EXPECT_THAT(names.at(text, "ab", 0), IsEmpty());
    EXPECT_THAT(names.at("[vdso]", "ab", 0), IsEmpty());
    EXPECT_THAT(names.at("", "", 0), IsEmpty());
  }
  EXPECT_THAT(names.problems(),
              ElementsAre(HasSubstr("gone: No such file"), HasSubstr("fifo: it is a FIFO"),
                          HasSubstr("text: it is no ELF program or library")));
}

TEST(FrameNames, HasNamesWhereLinesAreMissing) {
  auto options = without_debug_files();
  options.lines = true;
  FrameNames names(options);
  EXPECT_THAT(texts(names.at(shapes("stripped.so"), test::kShapesId, offset_in_shapes("plain"))),
              ElementsAre("plain+0x0"));
  EXPECT_THAT(names.problems(), ElementsAre(HasSubstr("stripped.so has no lines")));
}

TEST(FrameNames, ReadsAgainWhatItHadNoRoomFor) {
  const OwnFiles files;
  const std::string bytes = test::bytes_of_file(shapes("whole.so"));
  auto options = with_lines();
  options.memory = 1;
  FrameNames names(options);
  for (int round = 0; round < 3; round++)
    for (const char* file : {"a", "b", "c"})
      EXPECT_EQ(names.at(files.write(file, bytes), test::kShapesId, offset_in_shapes("plain"))
                    .back()
                    .function,
                "plain");
  EXPECT_THAT(names.problems(), IsEmpty());
}

TEST(FrameNames, KeepsALimitedNumberOfProblems) {
  FrameNames names(without_debug_files());
  for (int i = 0; i < 1100; i++)
    EXPECT_THAT(names.at("/nowhere/" + std::to_string(i), "ab", 0), IsEmpty());
  EXPECT_EQ(names.problems().size(), 100U);
}

}  // namespace
}  // namespace ktraced
