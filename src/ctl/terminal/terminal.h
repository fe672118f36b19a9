// SPDX-License-Identifier: BSD-2-Clause
// What a terminal can do.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace ktraced {

// True if `fd` is a terminal with a cursor that can be moved.
[[nodiscard]] bool has_screen(int fd);

// Emphasis by escape sequences, or none.
class Colours {
 public:
  explicit Colours(bool on) : on_(on) {}
  // On if `fd` is a terminal and NO_COLOR is not set.
  static Colours of(int fd);

  [[nodiscard]] bool on() const { return on_; }
  [[nodiscard]] std::string bold(std::string_view text) const { return wrap("1", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return wrap("2", text); }
  [[nodiscard]] std::string red(std::string_view text) const { return wrap("31", text); }
  [[nodiscard]] std::string green(std::string_view text) const { return wrap("32", text); }

 private:
  [[nodiscard]] std::string wrap(std::string_view code, std::string_view text) const {
    return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  bool on_;
};

}  // namespace ktraced
