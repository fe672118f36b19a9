// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/symbols/map_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "unit/support/shapes.h"

namespace ktraced {
namespace {

using test::OwnFiles;
using ::testing::HasSubstr;

std::string compiled_at(const AddressNames& names, uint64_t address) {
  const auto found = names.at(address);
  return found ? std::string(found->name) + "+" + std::to_string(found->offset) : "";
}

TEST(MapFile, NamesCompiledCode) {
  const auto names = map_names(
      "7f0000001000 40 LazyCompile:*sum /srv/app.js:10\n"
      "0x7f0000002000 0x20 Lcom/example/Main;::run\n");
  ASSERT_TRUE(names);
  EXPECT_EQ(compiled_at(*names, 0x7f0000001000), "LazyCompile:*sum /srv/app.js:10+0");
  EXPECT_EQ(compiled_at(*names, 0x7f000000103f), "LazyCompile:*sum /srv/app.js:10+63");
  EXPECT_EQ(compiled_at(*names, 0x7f0000001040), "");
  EXPECT_EQ(compiled_at(*names, 0x7f0000002004), "Lcom/example/Main;::run+4");
}

TEST(MapFile, TakesTheLastOfOverlappingLines) {
  const auto names = map_names("1000 100 first\n1080 100 second\n1000 10 third\n");
  ASSERT_TRUE(names);
  EXPECT_EQ(compiled_at(*names, 0x1000), "third+0");
  EXPECT_EQ(compiled_at(*names, 0x1010), "first+16");
  EXPECT_EQ(compiled_at(*names, 0x1080), "second+0");
  EXPECT_EQ(compiled_at(*names, 0x117f), "second+255");
}

TEST(MapFile, LeavesOutLinesOfAnotherForm) {
  const auto names = map_names(
      "\n\nnonsense\n1000\n1000 \n1000 10\n1000 10 \n -1 10 minus\n10000000000000000 10 long\n"
      "2000 10 good\nfffffffffffffff0 ffffffffffffffff end\n3000 10 half a li");
  ASSERT_TRUE(names);
  EXPECT_EQ(compiled_at(*names, 0x1000), "");
  EXPECT_EQ(compiled_at(*names, 0x2000), "good+0");
  EXPECT_EQ(compiled_at(*names, 0x3000), "half a li+0");
  EXPECT_EQ(compiled_at(*names, 0xfffffffffffffff8), "end+8");
}

TEST(MapFile, RefusesAFileThatIsTooLong) {
  const OwnFiles files;
  const auto path = files.write("perf-1.map", "1000 10 a\n");
  EXPECT_EQ(compiled_at(*read_map_file(path), 0x1001), "a+1");
  std::filesystem::resize_file(path, kMaxMapFile + 1);
  const auto names = read_map_file(path);
  ASSERT_FALSE(names);
  EXPECT_THAT(names.error().message, HasSubstr("perf-1.map: it has more than 134217728 bytes"));
}

TEST(MapFile, RefusesMoreLinesThanItKeeps) {
  const OwnFiles files;
  std::string text;
  for (size_t i = 0; i <= AddressNames::kMaxRanges; i++) text += "1 1 a\n";
  const auto names = read_map_file(files.write("perf-2.map", text));
  ASSERT_FALSE(names);
  EXPECT_EQ(names.error().code, ExitCode::data);
  EXPECT_THAT(names.error().message, HasSubstr("perf-2.map: it has more names than"));
}

TEST(MapFile, RefusesWhatIsNoFile) {
  const OwnFiles files;
  ::mkfifo((files / "fifo").c_str(), 0600);
  EXPECT_THAT(read_map_file(files / "fifo").error().message, HasSubstr("it is a FIFO"));
}

}  // namespace
}  // namespace ktraced
