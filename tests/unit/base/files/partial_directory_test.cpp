// SPDX-License-Identifier: BSD-2-Clause
#include "base/files/partial_directory.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <span>
#include <thread>
#include <vector>

#include "unit/support/refusing_disk.h"

namespace ktraced {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr int kPipeBytes = 4096;

// While it lives, SIGUSR1 interrupts system calls and does nothing else.
class InterruptingSignal {
 public:
  InterruptingSignal() {
    struct sigaction action{};  // without SA_RESTART
    action.sa_handler = [](int) {};
    ::sigaction(SIGUSR1, &action, &before_);
  }
  InterruptingSignal(const InterruptingSignal&) = delete;
  InterruptingSignal& operator=(const InterruptingSignal&) = delete;
  ~InterruptingSignal() { ::sigaction(SIGUSR1, &before_, nullptr); }

 private:
  struct sigaction before_{};
};

// Waits until the pipe is full, or closed by its writer.
void wait_until_full(int pipe) {
  pollfd end{.fd = pipe, .events = 0, .revents = 0};
  for (int waiting = 0; waiting < kPipeBytes && ::poll(&end, 1, 1) == 0;)
    ASSERT_EQ(::ioctl(pipe, FIONREAD, &waiting), 0);
}

// What comes out of a pipe if `write` writes more to it than it holds. Whenever the pipe is full,
// its writer is in the middle of a write; a signal then ends that write early.
std::string through_pipe(const std::function<void(int fd)>& write) {
  const InterruptingSignal interrupting;
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const Fd out(ends[0]);
  Fd in(ends[1]);
  EXPECT_EQ(::fcntl(out.get(), F_SETPIPE_SZ, kPipeBytes), kPipeBytes);
  std::jthread writer([&] {
    write(in.get());
    in.reset();
  });
  std::string text;
  std::array<char, kPipeBytes> page{};
  for (ssize_t got = 1; got > 0; text.append(page.data(), static_cast<size_t>(got))) {
    wait_until_full(out.get());
    ::pthread_kill(writer.native_handle(), SIGUSR1);
    got = std::max<ssize_t>(::read(out.get(), page.data(), page.size()), 0);
  }
  return text;
}

TEST(WriteParts, ContinuesAfterShortWrites) {
  std::string whole;
  for (int i = 0; whole.size() < size_t{10} * kPipeBytes; ++i) whole += std::to_string(i) + ' ';
  const auto parts = [&] {  // one ends with a page, others within one
    std::vector<iovec> made;
    auto rest = std::as_bytes(std::span(whole));
    for (const size_t bytes :
         {size_t{1000}, size_t{0}, size_t{3096}, size_t{20'000}, rest.size()}) {
      const auto part = rest.first(std::min(bytes, rest.size()));
      made.push_back(iovec_of(part));
      rest = rest.subspan(part.size());
    }
    return made;
  };
  const std::string first = through_pipe([&](int fd) {
    const std::vector<iovec> all = parts();
    EXPECT_GT(::writev(fd, all.data(), static_cast<int>(all.size())), 0);
  });
  EXPECT_LT(first.size(), whole.size()) << "no write is short";
  const std::string text = through_pipe([&](int fd) {
    std::vector<iovec> all = parts();
    EXPECT_TRUE(write_parts(fd, all, "pipe"));
  });
  EXPECT_EQ(text, whole);
}

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

// The first write is short, and the second fails.
TEST_F(PartialDirectoryTest, KeepsTheOldFileIfTheDiskIsFull) {
  PartialDirectory directory(whole(), "inner");
  ASSERT_TRUE(directory.make());
  ASSERT_TRUE(directory.write("a", "old"));
  Result<> written;
  {
    const test::RefusingDisk disk(100);
    written = directory.write("a", std::string(1000, 'n'));
  }
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ExitCode::io);
  EXPECT_THAT(written.error().message,
              AllOf(HasSubstr((partial() / "a").string()), HasSubstr("File too large")));
  EXPECT_EQ(text_of(partial() / "a"), "old");
  EXPECT_FALSE(fs::exists(partial() / "inner/.new"));
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
