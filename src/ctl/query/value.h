// SPDX-License-Identifier: BSD-2-Clause
// A value in a row.
#pragma once

#include <cstdint>
#include <string_view>

namespace ktraced {

// NULL, an integer or a text.
struct Value {
  enum class Type : uint8_t { null, integer, text };

  Type type = Type::null;
  bool is_static = false;  // the text is valid as long as the program runs
  int64_t number = 0;
  std::string_view text;

  static Value null() { return {}; }
  // Numbers from 2^63 on become negative: SQLite has no others.
  static Value integer(uint64_t number) {
    return {.type = Type::integer, .number = static_cast<int64_t>(number)};
  }
  static Value of(std::string_view text) { return {.type = Type::text, .text = text}; }
  // A name from a table of the program; NULL if it is empty.
  static Value name(std::string_view text) {
    if (text.empty()) return {};
    return {.type = Type::text, .is_static = true, .text = text};
  }
};

}  // namespace ktraced
