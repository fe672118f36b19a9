// SPDX-License-Identifier: BSD-2-Clause
// A text that is drawn repeatedly, in place, on the whole terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "ctl/terminal/screen_signals.h"

namespace ktraced {

// The part of `text` that fits on a screen, with the sequences that draw it over the previous one.
// The last row has the number of lines that did not fit. Escape sequences of Colours have no width.
[[nodiscard]] std::string screen_text(std::string_view text, size_t rows, size_t columns);

// Draws on the alternate screen of a terminal, so that what was there before reappears at the end,
// and while the process is stopped by Ctrl-Z. The first draw() enters it; leave() or the destructor
// leave it. Create it before other threads, see ScreenSignals. One at a time.
class FullScreen {
 public:
  // `fd`: the terminal, see has_screen(); stays open.
  static Result<FullScreen> on(int fd);
  FullScreen(FullScreen&& other) noexcept;
  FullScreen& operator=(FullScreen&&) = delete;
  ~FullScreen() { leave(); }

  // Draws as much of `text` as fits; nothing while this is a background job. False if the terminal
  // is gone. Fails with ExitCode::io.
  [[nodiscard]] Result<bool> draw(std::string text);
  // Becomes readable at a signal. Then call on_signal().
  [[nodiscard]] int signal_fd() const { return signals_.fd(); }
  // Stops the process at SIGTSTP, without the screen. Otherwise, and when it goes on, draws the
  // last text again. As draw().
  [[nodiscard]] Result<bool> on_signal();
  void leave();

 private:
  FullScreen(int fd, ScreenSignals signals) : fd_(fd), signals_(std::move(signals)) {}
  void leave_screen();

  int fd_;
  ScreenSignals signals_;
  std::string text_;
  bool entered_ = false;
};

}  // namespace ktraced
