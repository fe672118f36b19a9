// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/full_screen.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>

#include "unit/support/never.h"

namespace ktraced {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(FullScreen, DrawsLinesOverThePreviousOnes) {
  EXPECT_EQ(screen_text("one\ntwo\n\n", 5, 10), "\x1b[Hone\x1b[K\r\ntwo\x1b[K\x1b[J");
  EXPECT_EQ(screen_text("", 5, 10), "\x1b[H\x1b[J");
}

TEST(FullScreen, CountsTheLinesThatDoNotFit) {
  EXPECT_EQ(screen_text("1\n2\n3\n4\n", 3, 20),
            "\x1b[H1\x1b[K\r\n2\x1b[K\r\n... 2 more lines\x1b[K\x1b[J");
  EXPECT_EQ(screen_text("1\n2\n3\n", 3, 20), "\x1b[H1\x1b[K\r\n2\x1b[K\r\n3\x1b[K\x1b[J");
  EXPECT_EQ(screen_text("1\n2\n", 1, 20), "\x1b[H... 2 more lines\x1b[K\x1b[J");
  EXPECT_EQ(screen_text("1\n2\n", 0, 6), "\x1b[H... 2 \x1b[K\x1b[J");
}

TEST(FullScreen, CutsLinesBetweenCharacters) {
  EXPECT_THAT(screen_text("abcdef\n", 5, 4), HasSubstr("\x1b[Habcd\x1b[K"));
  EXPECT_THAT(screen_text("\xc3\xa9\xc3\xa9\xc3\xa9\n", 5, 2),
              HasSubstr("\x1b[H\xc3\xa9\xc3\xa9\x1b[K"));
  EXPECT_THAT(screen_text("\xe6\xbc\xa2\xe6\xbc\xa2\n", 5, 3),
              HasSubstr("\x1b[H\xe6\xbc\xa2\x1b[K"));
  EXPECT_THAT(screen_text("\x1b[1mabc\x1b[0mdef\n", 5, 4),
              HasSubstr("\x1b[H\x1b[1mabc\x1b[0md\x1b[0m\x1b[K"))
      << "colours have no width, and end with the line";
  EXPECT_THAT(screen_text("\x1b[1mabc", 5, 2), Not(HasSubstr("c")));
  EXPECT_THAT(screen_text("ab\x1b[", 5, 2), HasSubstr("ab"));
}

TEST(ScreenSignals, LeaveAnIgnoredCtrlZIgnored) {
  const auto before = std::signal(SIGTSTP, SIG_IGN);
  {
    auto signals = ScreenSignals::catch_signals();
    ASSERT_TRUE(signals);
    std::raise(SIGTSTP);
    std::raise(SIGWINCH);
    EXPECT_EQ(signals->next(), SIGWINCH);
    EXPECT_EQ(signals->next(), 0);
  }
  std::signal(SIGTSTP, before);
}

// A process that draws "frame" on a terminal of its own, until its end.
class DrawingProcess {
 public:
  DrawingProcess() : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)) {
    char name[64] = {};
    if (!master_ || ::grantpt(master_.get()) != 0 || ::unlockpt(master_.get()) != 0 ||
        ::ptsname_r(master_.get(), name, sizeof(name)) != 0)
      return;
    terminal_ = Fd(::open(name, O_RDWR | O_NOCTTY | O_CLOEXEC));
    pid_ = ::fork();
    if (pid_ == 0) draw();
    ::setpgid(pid_, pid_);
  }
  DrawingProcess(const DrawingProcess&) = delete;
  DrawingProcess& operator=(const DrawingProcess&) = delete;
  ~DrawingProcess() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  [[nodiscard]] pid_t pid() const { return pid_; }
  // Everything drawn, at the latest when it contains `text` at or after `from`.
  const std::string& text_with(std::string_view text, size_t from = 0) {
    const auto end = std::chrono::steady_clock::now() + test::kNever;
    while (text_.find(text, from) == std::string::npos && std::chrono::steady_clock::now() < end) {
      pollfd ready{.fd = master_.get(), .events = POLLIN, .revents = 0};
      ::poll(&ready, 1, 100);
      char bytes[4096];
      const ssize_t got = ::read(master_.get(), bytes, sizeof(bytes));
      if (got > 0) text_.append(bytes, static_cast<size_t>(got));
    }
    return text_;
  }

 private:
  // In a process group that has a parent in the same session: Ctrl-Z stops no other one.
  [[noreturn]] void draw() const {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setpgid(0, 0);
    auto screen = FullScreen::on(terminal_.get());
    if (!screen || !screen->draw("frame")) ::_exit(1);
    for (;;) {
      pollfd ready{.fd = screen->signal_fd(), .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, -1) > 0 && !screen->on_signal()) ::_exit(1);
    }
  }

  Fd master_, terminal_;
  pid_t pid_ = -1;
  std::string text_;
};

TEST(FullScreen, GivesTheTerminalBackWhileItIsStopped) {
  DrawingProcess process;
  ASSERT_GT(process.pid(), 0);
  ASSERT_THAT(process.text_with("frame"), HasSubstr("\x1b[?1049h"));
  ::kill(process.pid(), SIGTSTP);
  int status = 0;
  ASSERT_EQ(::waitpid(process.pid(), &status, WUNTRACED), process.pid());
  ASSERT_TRUE(WIFSTOPPED(status));
  const size_t stopped = process.text_with("\x1b[?1049l").size();
  EXPECT_THAT(process.text_with("\x1b[?1049l"), EndsWith("\x1b[?7h\x1b[?25h\x1b[?1049l"));

  ::kill(process.pid(), SIGCONT);
  const std::string again = process.text_with("frame", stopped).substr(stopped);
  EXPECT_THAT(again, StartsWith("\x1b[?1049h"));
  EXPECT_THAT(again, HasSubstr("frame"));
}

TEST(FullScreen, IsDrawnAgainAfterAStopThatCannotBeCaught) {
  DrawingProcess process;
  ASSERT_GT(process.pid(), 0);
  const size_t before = process.text_with("frame").size();
  ::kill(process.pid(), SIGSTOP);
  ASSERT_EQ(::waitpid(process.pid(), nullptr, WUNTRACED), process.pid());
  ::kill(process.pid(), SIGCONT);
  EXPECT_THAT(process.text_with("frame", before).substr(before), HasSubstr("\x1b[?1049h"));
}

}  // namespace
}  // namespace ktraced
