// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/top/curses_screen.h"

#define NCURSES_NOMACROS
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "ctl/terminal/terminal.h"

namespace ktraced {
namespace {

// ms after Esc in which the rest of a key's sequence comes.
constexpr int kEscapeDelay = 50;
enum ColourPair : short { kRed = 1, kGreen = 2 };

// ncurses writes characters in the encoding of the locale; ours are UTF-8.
void use_utf8() {
  const char* set = ::setlocale(LC_CTYPE, "");
  if (set == nullptr || std::string_view(::nl_langinfo(CODESET)) != "UTF-8")
    ::setlocale(LC_CTYPE, "C.UTF-8");
}

attr_t attribute_of(TopStyle style, bool colours) {
  switch (style) {
    case TopStyle::plain:
      return A_NORMAL;
    case TopStyle::bold:
      return A_BOLD;
    case TopStyle::dim:
      return A_DIM;
    case TopStyle::red:
      return colours ? static_cast<attr_t>(COLOR_PAIR(kRed)) : A_BOLD;
    case TopStyle::green:
      return colours ? static_cast<attr_t>(COLOR_PAIR(kGreen)) : A_NORMAL;
    case TopStyle::reverse:
      return A_REVERSE;
    case TopStyle::reverse_bold:
      return A_REVERSE | A_BOLD;
  }
  return A_NORMAL;
}

TopKey::Kind kind_of_code(wint_t code) {
  using Kind = TopKey::Kind;
  switch (code) {
    case KEY_UP:
      return Kind::up;
    case KEY_DOWN:
      return Kind::down;
    case KEY_PPAGE:
      return Kind::page_up;
    case KEY_NPAGE:
      return Kind::page_down;
    case KEY_HOME:
      return Kind::home;
    case KEY_END:
      return Kind::end;
    case KEY_BTAB:
      return Kind::back_tab;
    case KEY_ENTER:
      return Kind::enter;
    case KEY_BACKSPACE:
      return Kind::backspace;
    default:
      return Kind::other;
  }
}

TopKey key_of_character(wint_t character) {
  using Kind = TopKey::Kind;
  switch (character) {
    case '\t':
      return {.kind = Kind::tab};
    case '\r':
    case '\n':
      return {.kind = Kind::enter};
    case 0x1b:
      return {.kind = Kind::escape};
    case 0x7f:
    case '\b':
      return {.kind = Kind::backspace};
    default:
      return {.kind = Kind::character, .character = static_cast<char32_t>(character)};
  }
}

bool start_colours() {
  if (!::has_colors() || ::start_color() != OK) return false;
  const short background = ::use_default_colors() == OK ? short{-1} : short{COLOR_BLACK};
  return ::init_pair(kRed, COLOR_RED, background) == OK &&
         ::init_pair(kGreen, COLOR_GREEN, background) == OK;
}

}  // namespace

struct CursesScreen::Terminal {
  explicit Terminal(SCREEN* opened) : screen(opened) {}
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal() {
    ::endwin();
    ::delscreen(screen);
  }

  SCREEN* screen;
};

bool CursesScreen::is_possible() { return has_screen(STDIN_FILENO) && has_screen(STDOUT_FILENO); }

Result<std::unique_ptr<CursesScreen>> CursesScreen::open(ScreenSignals signals, bool colours) {
  use_utf8();
  SCREEN* screen = ::newterm(nullptr, stdout, stdin);
  if (screen == nullptr)
    return fail(ExitCode::unavailable,
                "the terminal '{}' (TERM) is not known here: install ncurses-term, or redirect the "
                "output, for instance to cat",
                std::getenv("TERM"));
  return std::unique_ptr<CursesScreen>(
      new CursesScreen(std::move(signals), std::make_unique<Terminal>(screen), colours));
}

CursesScreen::CursesScreen(ScreenSignals signals, std::unique_ptr<Terminal> terminal, bool colours)
    : signals_(std::move(signals)), terminal_(std::move(terminal)), colours_(colours) {
  ::cbreak();
  ::noecho();
  ::nonl();
  ::curs_set(0);
  ::set_escdelay(kEscapeDelay);
  ::keypad(stdscr, true);
  ::nodelay(stdscr, true);
  colours_ = colours_ && start_colours();
}

CursesScreen::~CursesScreen() = default;

TopSize CursesScreen::size() const {
  int rows = 0, columns = 0;
  rows = ::getmaxy(stdscr);
  columns = ::getmaxx(stdscr);
  return {.rows = static_cast<size_t>(rows > 0 ? rows : 1),
          .columns = static_cast<size_t>(columns > 0 ? columns : 1)};
}

void CursesScreen::draw(const std::vector<TopLine>& lines) {
  ::werase(stdscr);
  for (size_t row = 0; row < lines.size(); ++row) {
    ::wmove(stdscr, static_cast<int>(row), 0);
    for (const TopSpan& span : lines[row]) {
      ::wattrset(stdscr, static_cast<int>(attribute_of(span.style, colours_)));
      // The last character of the last line cannot move the cursor on, which is an error.
      static_cast<void>(::waddnstr(stdscr, span.text.c_str(), static_cast<int>(span.text.size())));
    }
  }
  ::wattrset(stdscr, A_NORMAL);
  ::wrefresh(stdscr);
}

std::optional<TopKey> CursesScreen::read_key() {
  wint_t typed = 0;
  const int kind = ::wget_wch(stdscr, &typed);
  if (kind == KEY_CODE_YES) return TopKey{.kind = kind_of_code(typed)};
  if (kind == OK) return key_of_character(typed);
  return std::nullopt;
}

void CursesScreen::stop_process() {
  ::endwin();
  ::raise(SIGSTOP);
}

void CursesScreen::on_signals() {
  bool resized = false;
  while (const int signal = signals_.next()) {
    resized = true;  // also while it was stopped
    if (signal == SIGTSTP) stop_process();
    if (signal == SIGCONT) ::endwin();  // the shell may have changed the terminal's modes
  }
  winsize size{};
  if (resized && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row != 0 &&
      size.ws_col != 0)
    ::resizeterm(size.ws_row, size.ws_col);
  ::clearok(curscr, true);
  ::wrefresh(stdscr);
}

}  // namespace ktraced
