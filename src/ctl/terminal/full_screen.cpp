// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/full_screen.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <initializer_list>
#include <utility>
#include <vector>

#include "base/text/plain_text.h"
#include "ctl/terminal/output.h"

namespace ktraced {
namespace {

// The alternate screen, without cursor and without wrapping of lines; and back.
constexpr std::string_view kEnterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr std::string_view kLeaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l";
constexpr std::string_view kScreenHome = "\x1b[H", kClearRestOfLine = "\x1b[K",
                           kClearBelow = "\x1b[J";
constexpr std::string_view kPlainText = "\x1b[0m";

// Bytes of the character, or of the escape sequence up to its letter, at the start of `text`.
struct ScreenPiece {
  size_t bytes = 1, columns = 1;
};
ScreenPiece first_piece(std::string_view text) {
  if (text.starts_with("\x1b[")) {
    const size_t end = text.find_first_not_of("0123456789;", 2);
    return {.bytes = end == std::string_view::npos ? text.size() : end + 1, .columns = 0};
  }
  return {.bytes = std::max<size_t>(utf8_length(text), 1)};
}

std::string cut_line(std::string_view line, size_t columns) {
  size_t end = 0;
  for (size_t used = 0; end < line.size();) {
    const ScreenPiece piece = first_piece(line.substr(end));
    if (used + piece.columns > columns) break;
    used += piece.columns;
    end += piece.bytes;
  }
  std::string out(line.substr(0, end));
  if (end < line.size() && out.contains('\x1b')) out += kPlainText;
  return out;
}

std::vector<std::string_view> screen_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : signals) ::sigaddset(&set, signal);
  return set;
}

sigset_t screen_signals() { return set_of({SIGWINCH, SIGTSTP, SIGCONT}); }

// Returns when somebody continues the process. The kernel does not stop a process that nobody would
// continue.
void stop_process() {
  const sigset_t set = set_of({SIGTSTP});
  ::raise(SIGTSTP);
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

// False if `fd` is not the terminal that controls this process.
bool is_in_background(int fd) {
  const pid_t foreground = ::tcgetpgrp(fd);
  return foreground > 0 && foreground != ::getpgrp();
}

}  // namespace

std::string screen_text(std::string_view text, size_t rows, size_t columns) {
  const std::vector<std::string_view> lines = screen_lines(text);
  rows = std::max<size_t>(rows, 1);
  const bool fits = lines.size() <= rows;
  const size_t shown = fits ? lines.size() : rows - 1;
  std::string out(kScreenHome);
  for (size_t i = 0; i < shown; ++i) {
    if (i != 0) out += "\r\n";
    out += cut_line(lines[i], columns);
    out += kClearRestOfLine;
  }
  if (!fits) {
    if (shown != 0) out += "\r\n";
    const std::string more = fmt::format("... {} more lines", lines.size() - shown);
    out += cut_line(more, columns);
    out += kClearRestOfLine;
  }
  out += kClearBelow;
  return out;
}

bool FullScreen::is_possible(int fd) {
  const char* kind = std::getenv("TERM");
  return ::isatty(fd) == 1 && kind != nullptr && *kind != '\0' && std::string_view(kind) != "dumb";
}

Result<FullScreen> FullScreen::on(int fd) {
  const sigset_t set = screen_signals();
  Fd signals(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return fail(ExitCode::os, "cannot wait for signals: {}", errno_text(errno));
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return FullScreen(fd, std::move(signals));
}

FullScreen::FullScreen(FullScreen&& other) noexcept
    : fd_(other.fd_),
      signals_(std::move(other.signals_)),
      text_(std::move(other.text_)),
      entered_(std::exchange(other.entered_, false)) {}

Result<bool> FullScreen::draw(std::string text) {
  text_ = std::move(text);
  if (is_in_background(fd_)) return true;
  winsize size{};
  if (::ioctl(fd_, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
    size = {.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
  std::string out(std::exchange(entered_, true) ? "" : kEnterScreen);
  out += screen_text(text_, size.ws_row, size.ws_col);
  return write_all(fd_, out);
}

Result<bool> FullScreen::on_signal() {
  const bool was_entered = entered_;
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof(info)) > 0) {
    // After SIGSTOP, which cannot be caught, others may have used the screen.
    if (info.ssi_signo == SIGTSTP || info.ssi_signo == SIGCONT) leave_screen();
    if (info.ssi_signo == SIGTSTP) stop_process();
  }
  if (!was_entered && text_.empty()) return true;
  return draw(std::exchange(text_, {}));
}

void FullScreen::leave_screen() {
  if (std::exchange(entered_, false)) static_cast<void>(write_all(fd_, kLeaveScreen).has_value());
}

void FullScreen::leave() {
  leave_screen();
  if (!signals_) return;
  const sigset_t set = screen_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  signals_.reset();
}

}  // namespace ktraced
