// SPDX-License-Identifier: BSD-2-Clause
// The whole terminal, with keys.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "ctl/terminal/screen_signals.h"
#include "ctl/top/layout.h"
#include "ctl/top/top_state.h"

namespace ktraced {

// Draws on the alternate screen of the terminal on standard input and output, by ncurses. The
// destructor restores the terminal. One at a time.
class CursesScreen {
 public:
  // True if both are terminals with a cursor that can be moved.
  [[nodiscard]] static bool is_possible();
  // `colours`: use them if the terminal has them. Fails with ExitCode::unavailable if ncurses does
  // not know the terminal.
  static Result<std::unique_ptr<CursesScreen>> open(ScreenSignals signals, bool colours);
  CursesScreen(const CursesScreen&) = delete;
  CursesScreen& operator=(const CursesScreen&) = delete;
  ~CursesScreen();

  [[nodiscard]] TopSize size() const;
  // `lines`: as of layout() for size().
  void draw(const std::vector<TopLine>& lines);
  // The next key that was typed; does not wait. Nothing: there is none.
  std::optional<TopKey> read_key();
  // Readable when on_signals() is to be called.
  [[nodiscard]] int signal_fd() const { return signals_.fd(); }
  // Adapts to a new size; stops the process and redraws when it continues. Then call draw().
  void on_signals();

 private:
  struct Terminal;  // of ncurses
  CursesScreen(ScreenSignals signals, std::unique_ptr<Terminal> terminal, bool colours);
  void stop_process();

  ScreenSignals signals_;
  std::unique_ptr<Terminal> terminal_;  // restored before signals may stop the process
  bool colours_;
};

}  // namespace ktraced
