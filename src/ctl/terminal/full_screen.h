// SPDX-License-Identifier: BSD-2-Clause
// A text that is drawn repeatedly, in place, on the whole terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/fd.h"

namespace ktraced {

// The part of `text` that fits on a screen, with the sequences that draw it over the previous one.
// The last row has the number of lines that did not fit. Escape sequences of Colours have no width.
[[nodiscard]] std::string screen_text(std::string_view text, size_t rows, size_t columns);

// Draws on the alternate screen of a terminal, so that what was there before reappears at the end.
// The first draw() enters it; leave() or the destructor leave it. Create it before other threads,
// because it blocks SIGWINCH. One at a time.
class FullScreen {
 public:
  // True if `fd` is a terminal with an alternate screen.
  static bool is_possible(int fd);
  // `fd`: the terminal; stays open.
  static Result<FullScreen> on(int fd);
  FullScreen(FullScreen&& other) noexcept;
  FullScreen& operator=(FullScreen&&) = delete;
  ~FullScreen() { leave(); }

  // Draws as much of `text` as fits. False if the terminal is gone. Fails with ExitCode::io.
  [[nodiscard]] Result<bool> draw(std::string text);
  // Becomes readable when the size has changed. Then call on_resize().
  [[nodiscard]] int resized_fd() const { return resized_.get(); }
  // Draws the last text again. As draw().
  [[nodiscard]] Result<bool> on_resize();
  void leave();

 private:
  FullScreen(int fd, Fd resized) : fd_(fd), resized_(std::move(resized)) {}

  int fd_;
  Fd resized_;
  std::string text_;
  bool entered_ = false;
};

}  // namespace ktraced
