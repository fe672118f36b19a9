// What text from elsewhere consists of.
#pragma once

#include <cstddef>
#include <string_view>

namespace ktraced {

// Length of the UTF-8 sequence that `bytes` (not empty) begin with, 0 if it is
// none: overlong forms, surrogates and what lies beyond U+10FFFF are none.
[[nodiscard]] size_t utf8_length(std::string_view bytes);

// What in `text` keeps it from standing in a line of a log or on a terminal as what it is: "a
// control character", for instance. Empty: nothing.
[[nodiscard]] std::string_view unfit_for_a_line(std::string_view text);

}  // namespace ktraced
