// SPDX-License-Identifier: BSD-2-Clause
// Puts strings of unknown bytes into output: names of tasks and files can be chosen
// by anybody on the machine, and must neither break JSON nor drive a terminal.
#pragma once

#include <string_view>

#include "base/plain_text.h"
#include "decoders/text_buffer.h"

namespace ktraced {

// A JSON string with its quotes. What is_hidden() becomes \uXXXX, bytes that are not UTF-8 become
// U+FFFD, one each.
void append_json_string(std::string_view bytes, TextBuffer& out);

// The same as printable().
void append_printable(std::string_view bytes, TextBuffer& out);

}  // namespace ktraced
