// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/full_screen.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text/plain_text.h"
#include "ctl/terminal/output.h"
#include "ctl/terminal/table.h"

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
  size_t bytes = 1, columns = 0;
};
ScreenPiece first_piece(std::string_view text) {
  if (text.starts_with("\x1b[")) {
    const size_t end = text.find_first_not_of("0123456789;", 2);
    return {.bytes = end == std::string_view::npos ? text.size() : end + 1, .columns = 0};
  }
  const size_t bytes = std::max<size_t>(utf8_length(text), 1);
  return {.bytes = bytes, .columns = text_columns(text.substr(0, bytes))};
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

// Returns when somebody continues the process. The kernel does not stop a process that nobody would
// continue.
void stop_process() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTSTP);
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

Result<FullScreen> FullScreen::on(int fd) {
  auto signals = ScreenSignals::catch_signals();
  if (!signals) return propagate(signals);
  return FullScreen(fd, std::move(*signals));
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
  while (const int signal = signals_.next()) {
    // After SIGSTOP, which cannot be caught, others may have used the screen.
    if (signal == SIGTSTP || signal == SIGCONT) leave_screen();
    if (signal == SIGTSTP) stop_process();
  }
  if (!was_entered && text_.empty()) return true;
  return draw(std::exchange(text_, {}));
}

void FullScreen::leave_screen() {
  if (std::exchange(entered_, false)) static_cast<void>(write_all(fd_, kLeaveScreen).has_value());
}

void FullScreen::leave() {
  leave_screen();
  signals_.release();
}

}  // namespace ktraced
