// SPDX-License-Identifier: BSD-2-Clause
// Pieces of C text: literals, lists of arguments.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ktraced {

// A digit of the basic character set, independent of the locale.
[[nodiscard]] constexpr bool is_digit_char(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_letter_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
// A lower-case letter as an upper-case one; any other character as it is.
[[nodiscard]] constexpr char upper_char(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}
// A character of an identifier: letter, digit or '_'.
[[nodiscard]] constexpr bool is_word_char(char c) {
  return c == '_' || is_digit_char(c) || is_letter_char(c);
}

// Does the text have digits, and nothing else?
[[nodiscard]] bool is_decimal_text(std::string_view text);

// `text` without surrounding white space.
[[nodiscard]] std::string_view trimmed(std::string_view text);

// Position after the string or character literal that begins at `at`.
[[nodiscard]] size_t end_of_literal(std::string_view text, size_t at);

// The parts of `text` between commas that are not inside brackets or literals, trimmed. Nothing if
// brackets do not match.
[[nodiscard]] std::optional<std::vector<std::string_view>> split_arguments(std::string_view text);

// The value of adjacent C string literals; nothing if `text` is anything else.
[[nodiscard]] std::optional<std::string> string_literal(std::string_view text);

}  // namespace ktraced
