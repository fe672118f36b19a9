// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/read_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
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

// The file is replaced between the look at it and its opening.
TEST_F(ReadFile, OpensTheFileThatWasExpectedAndNotItsSuccessor) {
  const fs::path path = file("expected");
  const auto opened = open_expected_at(AT_FDCWD, path, [&](const struct stat& status) {
    EXPECT_EQ(status.st_size, 8);
    fs::rename(path, directory_ / "elsewhere");
    return ::mkfifo(path.c_str(), 0600) == 0;
  });
  ASSERT_TRUE(opened);
  char text[16] = {};
  EXPECT_EQ(::read(opened->get(), text, sizeof(text)), 8);
  EXPECT_STREQ(text, "expected");
}

// inotify(7) reports each opening; old kernels also that of a path alone (O_PATH).
TEST_F(ReadFile, DoesNotOpenWhatIsNotExpected) {
  const fs::path path = file("other"), fifo = directory_ / "fifo", link = directory_ / "link";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  fs::create_symlink(path, link);
  const Fd openings(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  ASSERT_GE(::inotify_add_watch(openings.get(), directory_.c_str(), IN_OPEN), 0);
  const auto opened = [&] {
    char events[4096];
    return ::read(openings.get(), events, sizeof(events)) > 0;
  };
  Fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  const bool reports_paths = opened();
  const auto expected = [](bool is) { return [is](const struct stat&) { return is; }; };
  EXPECT_FALSE(open_expected_at(AT_FDCWD, path, expected(false)));
  EXPECT_FALSE(open_expected_at(AT_FDCWD, link, expected(true), O_NOFOLLOW));
  EXPECT_FALSE(open_expected_at(AT_FDCWD, fifo, expected(true)));
  EXPECT_EQ(open_expected_at(AT_FDCWD, directory_ / "none", expected(true)).error().error, ENOENT);
  EXPECT_EQ(opened(), reports_paths);
  EXPECT_TRUE(open_expected_at(AT_FDCWD, link, expected(true)));
  EXPECT_TRUE(opened());
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
