// SPDX-License-Identifier: BSD-2-Clause
#include "trace/symbols/perf_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>

#include "base/clock.h"
#include "base/files/lines.h"
#include "base/files/proc_stat.h"
#include "base/files/read_file.h"
#include "unit/support/shapes.h"
#include "unit/support/trace_directory.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;

// No machine is too slow for it.
constexpr PerfMapLimits kSlow = {.time = std::chrono::hours(1)};

class PerfMap : public ::testing::Test {
 protected:
  [[nodiscard]] std::string lines_of(const std::string& text,
                                     const std::vector<uint64_t>& addresses,
                                     const PerfMapLimits& limits = kSlow) const {
    test::write_file(path(), text);
    const auto lines =
        perf_map_lines(Fd(::open(path().c_str(), O_RDONLY | O_CLOEXEC)), addresses, limits);
    return lines ? *lines : lines.error().message;
  }
  [[nodiscard]] fs::path path() const { return directory_.path() / "perf-7.map"; }
  [[nodiscard]] bool opens(uid_t owner, uint64_t since = 0) const {
    const Fd directory(::open(directory_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return static_cast<bool>(open_perf_map(directory.get(), "perf-7.map", owner, since));
  }

  const test::TempDirectory directory_;
};

TEST_F(PerfMap, HasLinesOfThreeParts) {
  EXPECT_EQ(perf_map_line("7f00 1c LazyCompile:*add /a b.js:1"),
            (PerfMapLine{.address = 0x7f00, .size = 0x1c, .name = "LazyCompile:*add /a b.js:1"}));
  EXPECT_EQ(perf_map_line("0x7f00 0x1c f"),
            (PerfMapLine{.address = 0x7f00, .size = 0x1c, .name = "f"}));
  EXPECT_EQ(perf_map_line("0x7f00 40 Lcom/example/Main;::run"),
            (PerfMapLine{.address = 0x7f00, .size = 0x40, .name = "Lcom/example/Main;::run"}));
  for (const char* bad :
       {"", "nonsense", "7f00 ", "7f00", "7f00 1c", "7f00 1c ", "7f00  1c f", "g 1 f", "7f00 0 f",
        "10000000000000000 1 f", "ffffffffffffffff 2 f", "-1 1 f", " -1 1 f", " 7f00 1 f"})
    EXPECT_FALSE(perf_map_line(bad)) << bad;
}

TEST_F(PerfMap, GivesTheLinesOfTheAddressesOnly) {
  const std::string text = "1000 10 a\n1010 10 b\nnone\n\n1020 10 c\n2000 100 d";
  EXPECT_EQ(lines_of(text, {0x100f, 0x1020, 0x102f, 0x20ff, 0x2100}),
            "1000 10 a\n1020 10 c\n2000 100 d\n");
  EXPECT_EQ(lines_of(text, {0xfff, 0x1030}), "");
  EXPECT_EQ(lines_of(text, {}), "");
  EXPECT_EQ(lines_of("", {0x1000}), "");
}

TEST_F(PerfMap, GivesTheLastLineOfCodeThatWasReplaced) {
  EXPECT_EQ(lines_of("1000 10 old\n1008 10 new\n", {0x1004, 0x1009}), "1000 10 old\n1008 10 new\n");
  EXPECT_EQ(lines_of("1008 10 old\n1000 10 new\n", {0x1009}), "1000 10 new\n");
  EXPECT_EQ(lines_of("1000 100 first\n1080 100 second\n1000 10 third\n",
                     {0x1000, 0x100f, 0x1010, 0x1080, 0x117f}),
            "1000 100 first\n1080 100 second\n1000 10 third\n")
      << "in the order of the file";
}

TEST_F(PerfMap, CutsLongNamesAndLeavesOutLongLines) {
  const std::string name(PerfMapLimits::kName + 1, 'n'), line(300'000, 'l');
  EXPECT_EQ(lines_of("1000 10 " + name + "\n", {0x1000}), "1000 10 " + name.substr(1) + "\n");
  EXPECT_EQ(lines_of("1000 10 " + line + "\n2000 10 b\n", {0x1000, 0x2000}), "2000 10 b\n");
  EXPECT_EQ(lines_of("1000 10 " + line, {0x1000}), "");
}

// Lines begin and end at any place of the pieces in which the file is read.
TEST_F(PerfMap, ReadsLargeFiles) {
  std::string text;
  for (uint64_t i = 0; i < 100'000; ++i) text += fmt::format("{:x} 10 function {}\n", i * 16, i);
  for (const uint64_t i : {0U, 1U, 49'999U, 99'999U})
    EXPECT_EQ(lines_of(text, {i * 16 + 5}), fmt::format("{:x} 10 function {}\n", i * 16, i));
}

TEST_F(PerfMap, ReadsWhatIsNoText) {
  std::string bytes;
  for (uint64_t i = 0; i < 1'000'000; ++i) bytes += static_cast<char>(i * i >> 7);
  EXPECT_EQ(lines_of(bytes + "\n1000 10 a\n", {0x1000}), "1000 10 a\n");
  EXPECT_EQ(lines_of(std::string("1000 10 a\0b\xff\n", 13), {0x1000}),
            std::string("1000 10 a\0b\xff\n", 13));
}

// Each line that is kept is a line of the file, cut at most, and names one of the addresses.
TEST_F(PerfMap, SurvivesHostileFiles) {
  const std::vector<uint64_t> addresses = {0, 0x1000, 0x100f, 0x1018, 0x2000, UINT64_MAX - 1};
  const auto files = test::hostile_files("maps");
  ASSERT_GT(files.size(), 15U);
  for (const fs::path& file : files) {
    SCOPED_TRACE(file);
    const std::string bytes = test::bytes_of_file(file);
    size_t lines = 0;
    for_each_line(lines_of(bytes, addresses), [&](std::string_view text) {
      ++lines;
      const auto line = perf_map_line(text);
      ASSERT_TRUE(line) << text;
      EXPECT_LE(line->name.size(), PerfMapLimits::kName);
      EXPECT_NE(bytes.find(line->name), std::string::npos) << text;
      EXPECT_TRUE(std::ranges::any_of(addresses, [&](uint64_t address) {
        return address >= line->address && address - line->address < line->size;
      })) << text;
    });
    EXPECT_LE(lines, addresses.size());
  }
}

TEST_F(PerfMap, TakesFromHostileFilesWhatIsCertain) {
  const auto lines_in = [&](const char* name, const std::vector<uint64_t>& addresses) {
    return lines_of(test::bytes_of_file(test::hostile_files("maps").front().parent_path() / name),
                    addresses);
  };
  EXPECT_EQ(lines_in("no_size", {0x1000}), "1000 10 b\n");
  EXPECT_EQ(lines_in("line_too_long", {0x1000, 0x2000}), "2000 10 b\n");
  EXPECT_EQ(lines_in("one_in_another", {0x1010, 0x1018, 0x1fff, 0x2000}),
            "1000 1000 outer\n1010 10 inner\n2000 10 other\n1018 1 innermost\n");
  EXPECT_EQ(lines_in("all_addresses", {0, 0x1000, UINT64_MAX - 1}),
            "0 ffffffffffffffff all\n1000 10 a\n");
  EXPECT_EQ(lines_in("the_same_a_hundred_times", {0x1008}), "1000 10 tier99\n");
  EXPECT_EQ(lines_in("numbers_of_other_forms", {0x1000, 0x1008}), "");
}

// A hundred megabytes without a newline, and all of them zeros, which take no room on the disk.
TEST_F(PerfMap, LeavesOutAHugeLine) {
  constexpr off_t kHuge = 100'000'000;
  test::write_file(path(), "1000 10 a\n");
  ASSERT_EQ(::truncate(path().c_str(), kHuge), 0);
  const Fd file(::open(path().c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(perf_map_lines(file, {0x1000}, kSlow).value_or(""), "1000 10 a\n");
}

TEST_F(PerfMap, SaysWhichLimitAFileExceeds) {
  EXPECT_EQ(lines_of("1000 10 a\n", {0x1000}, {.bytes = 9, .time = kSlow.time}),
            "it has more than 0 MiB");
  EXPECT_EQ(lines_of("1000 10 a\n", {0x1000}, {.bytes = 10, .time = kSlow.time}), "1000 10 a\n");
  const std::string large(1'000'000, '\n');
  EXPECT_EQ(lines_of("1000 10 a\n" + large, {0x1000}, kSlow), "1000 10 a\n");
  EXPECT_EQ(lines_of("1000 10 a\n" + large, {0x1000}, {.time = std::chrono::milliseconds(0)}),
            "reading it takes longer than 0 ms");
}

// Each line names every address: a file of that kind would take hours.
TEST_F(PerfMap, EndsInTime) {
  std::vector<uint64_t> addresses;
  for (uint64_t i = 0; i < 10'000; ++i) addresses.push_back(i);
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) text += "0 ffffffff all\n";
  EXPECT_EQ(lines_of(text, addresses, {.time = std::chrono::milliseconds(1)}),
            "reading it takes longer than 1 ms");
}

TEST_F(PerfMap, IsOpenedIfItIsAFileOfTheUser) {
  test::write_file(path(), "1000 10 a\n");
  EXPECT_TRUE(opens(::geteuid()));
  EXPECT_FALSE(opens(::geteuid() + 1)) << "another user's";
  EXPECT_FALSE(opens(::geteuid(), clock_ns(CLOCK_REALTIME) + 3'600'000'000'000))
      << "that of an earlier process";
  fs::remove(path());
  EXPECT_FALSE(opens(::geteuid())) << "there is none";
}

TEST_F(PerfMap, IsNotOpenedBehindASymbolicLink) {
  test::write_file(directory_.path() / "secret", "1000 10 a\n");
  fs::create_symlink(directory_.path() / "secret", path());
  EXPECT_FALSE(opens(::geteuid()));
}

TEST_F(PerfMap, IsNotOpenedIfThatWouldWait) {
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_FALSE(opens(::geteuid()));
  fs::remove(path());
  fs::create_directory(path());
  EXPECT_FALSE(opens(::geteuid()));
}

// A user can have any file there that he can link to or mount.
TEST_F(PerfMap, OfRootIsNotReadForAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root has files of root";
  test::write_file(path(), "1000 10 a\n");
  EXPECT_FALSE(opens(1000));
  ASSERT_EQ(::chown(path().c_str(), 1000, 1000), 0);
  EXPECT_TRUE(opens(1000));
}

TEST_F(PerfMap, OfAnotherProcessWithTheSameIdIsNotRead) {
  const fs::path map = fmt::format("/tmp/perf-{}.map", ::getpid());
  test::write_file(map, "1000 10 a\n");
  const auto start =
      start_in_stat(read_file("/proc/self/stat", kProcBytesMax).value_or("")).value();
  const auto pid = static_cast<uint32_t>(::getpid());
  const auto lines_since = [&](uint64_t start_ns) {
    return read_perf_map({.tgid = pid, .start_ns = start_ns}, ::getuid(), {0x1000})
        .value_or("it cannot be read");
  };
  EXPECT_EQ(lines_since(start), "1000 10 a\n");
  constexpr uint64_t kHour = 3'600'000'000'000;
  EXPECT_EQ(lines_since(boottime_ns() + kHour), "");
  fs::remove(map);
}

}  // namespace
}  // namespace ktraced
