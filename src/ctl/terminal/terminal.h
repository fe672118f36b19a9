// SPDX-License-Identifier: BSD-2-Clause
// What a terminal can do.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ktraced {

// True if `fd` is a terminal with a cursor that can be moved.
[[nodiscard]] bool has_screen(int fd);

// Emphasis by escape sequences, or none; and how wide a line may be.
class Colours {
 public:
  explicit Colours(bool on, size_t columns = SIZE_MAX) : on_(on), columns_(columns) {}
  // On if `fd` is a terminal and NO_COLOR is not set.
  static Colours of(int fd);

  [[nodiscard]] bool on() const { return on_; }
  // Of the terminal; SIZE_MAX: it is none, or does not say.
  [[nodiscard]] size_t columns() const { return columns_; }
  [[nodiscard]] std::string bold(std::string_view text) const { return wrap("1", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return wrap("2", text); }
  [[nodiscard]] std::string red(std::string_view text) const { return wrap("31", text); }
  [[nodiscard]] std::string green(std::string_view text) const { return wrap("32", text); }

 private:
  [[nodiscard]] std::string wrap(std::string_view code, std::string_view text) const {
    return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  bool on_;
  size_t columns_;
};

}  // namespace ktraced
