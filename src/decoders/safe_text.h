// Puts strings of unknown bytes into output: names of tasks and files can be chosen
// by anybody on the machine, and must neither break JSON nor drive a terminal.
#pragma once

#include <string>
#include <string_view>

#include "decoders/text_buffer.h"

namespace ktraced {

// A JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD, one each.
void append_json_string(std::string_view bytes, TextBuffer& out);

// Printable text: control characters, and bytes that are not UTF-8, become \xNN.
void append_printable(std::string_view bytes, TextBuffer& out);
[[nodiscard]] std::string printable(std::string_view bytes);

}  // namespace ktraced
