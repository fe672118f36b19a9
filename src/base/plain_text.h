// SPDX-License-Identifier: BSD-2-Clause
// What text from elsewhere consists of.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ktraced {

// Length of the UTF-8 sequence that `bytes` (not empty) begin with, 0 if it is
// none: overlong forms, surrogates and what lies beyond U+10FFFF are none.
[[nodiscard]] size_t utf8_length(std::string_view bytes);

// The code point of such a sequence.
[[nodiscard]] char32_t code_point(std::string_view sequence);

// Must it be shown as an escape? What drives a terminal (C0, DEL and C1 controls), ends a line, or
// turns the direction of writing: names of tasks and files can be chosen by anybody.
[[nodiscard]] bool is_hidden(char32_t point);

// Text from elsewhere as it may stand in a line on a terminal or in a log: the bytes of what
// is_hidden(), and bytes that are not UTF-8, become \xNN. Everything foreign is shown this way.
[[nodiscard]] std::string printable(std::string_view bytes);

// The same for several lines: line ends and tabs stay.
[[nodiscard]] std::string printable_lines(std::string_view text);

// A JSON document with what is_hidden() as \uXXXX: the same document, fit for a terminal.
[[nodiscard]] std::string printable_json(std::string document);

// What in `text` keeps it from standing in a line of a log or on a terminal as what it is: "a
// control character", for instance. Empty: nothing.
[[nodiscard]] std::string_view unfit_for_a_line(std::string_view text);

}  // namespace ktraced
