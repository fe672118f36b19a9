// SPDX-License-Identifier: BSD-2-Clause
// Makes untrusted text safe to print.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ktraced {

// Length of the UTF-8 sequence at the start of `bytes` (not empty); 0 if it is invalid: an overlong
// form, a surrogate or above U+10FFFF.
[[nodiscard]] size_t utf8_length(std::string_view bytes);

// The code point of one valid UTF-8 sequence.
[[nodiscard]] char32_t code_point(std::string_view sequence);

// Must it be escaped? True for characters that control a terminal (C0, DEL and C1 controls), end a
// line, or change the direction of writing. Any user can choose names of tasks and files.
[[nodiscard]] bool is_hidden(char32_t point);

// U+FFFD, in JSON in the place of each byte that is not UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";

// The text with kReplacementCharacter for each byte that is not part of a valid sequence.
[[nodiscard]] std::string with_replacements(std::string_view bytes);
[[nodiscard]] bool is_utf8(std::string_view bytes);

// Untrusted text, safe for one line of a terminal or log: bytes of characters that are is_hidden(),
// and bytes that are not UTF-8, become \xNN. All untrusted text is shown this way.
[[nodiscard]] std::string printable(std::string_view bytes);

// Untrusted text of several lines, safe for a terminal as printable() is; line ends and tabs stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

// A JSON document with is_hidden() characters as \uXXXX: the same document, safe for a terminal.
[[nodiscard]] std::string printable_json(std::string document);

// What makes `text` unsafe for one line of a log or terminal, e.g. "a control character"; empty if
// it is safe.
[[nodiscard]] std::string_view unfit_for_a_line(std::string_view text);

}  // namespace ktraced
