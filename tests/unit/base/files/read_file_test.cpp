// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/read_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "base/fd.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A temporary directory, removed after the test.
class ReadFile : public testing::Test {
 protected:
  ReadFile() {
    std::string name = fs::temp_directory_path() / "ktraced-read-file-XXXXXX";
    directory_ = ::mkdtemp(name.data());
  }
  ~ReadFile() override {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }
  fs::path file(const std::string& text) {
    fs::path path = directory_ / "file";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  fs::path directory_;
};

TEST_F(ReadFile, ReturnsTheWholeText) {
  const std::string text = std::string("a\0b\n", 4) + std::string(100'000, 'x');
  EXPECT_EQ(read_file(file(text), 1'000'000).value_or(""), text);
  EXPECT_EQ(read_file(file(""), 10).value_or("?"), "");
}

TEST_F(ReadFile, ReadsKernelFilesWithoutALength) {
  EXPECT_THAT(read_file("/proc/self/status", 65536).value_or(""), HasSubstr("Tgid:"));
}

TEST_F(ReadFile, ReadsBelowADirectory) {
  file("text");
  const Fd directory(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(read_file_at(directory.get(), "file", 10).value_or(""), "text");
}

TEST_F(ReadFile, AcceptsAtMostTheLargestSize) {
  EXPECT_EQ(read_file(file("12345678"), 8).value_or(""), "12345678");
  auto longer = read_file(file("123456789"), 8);
  ASSERT_FALSE(longer);
  EXPECT_THAT(longer.error().message, HasSubstr("more than 8 bytes"));
  // A file whose content the kernel generates when it is read.
  auto kernel = read_file("/proc/self/status", 100);
  ASSERT_FALSE(kernel);
  EXPECT_THAT(kernel.error().message, HasSubstr("more than 100 bytes"));
}

TEST_F(ReadFile, ReportsMissingAndForbiddenFiles) {
  auto missing = read_file(directory_ / "none", 10);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ExitCode::data);
  EXPECT_THAT(missing.error().message, HasSubstr("/none: No such file"));
}

TEST_F(ReadFile, RefusesNonRegularFilesWithoutWaiting) {
  const fs::path fifo = directory_ / "fifo", link = directory_ / "link";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_EQ(::symlink("/dev/zero", link.c_str()), 0);
  const std::pair<fs::path, std::string> cases[] = {
      {fifo, "a FIFO"}, {link, "a device"}, {directory_, "a directory"}};
  for (const auto& [path, expected] : cases) {
    auto text = read_file(path, 1'000'000);
    ASSERT_FALSE(text) << path;
    EXPECT_EQ(text.error().code, ExitCode::io);
    EXPECT_THAT(text.error().message, HasSubstr("it is " + expected));
  }
}

// The comm file of a thread that ends between open() and read(): reading fails.
TEST_F(ReadFile, ReturnsAnErrorForAThreadThatHasEnded) {
  const pid_t child = ::fork();
  if (child == 0) ::pause();
  const Fd directory(::open(("/proc/" + std::to_string(child)).c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(read_file_at(directory.get(), "comm", 100));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  auto text = read_file_at(directory.get(), "comm", 100);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().code, ExitCode::data);
}

}  // namespace
}  // namespace ktraced
