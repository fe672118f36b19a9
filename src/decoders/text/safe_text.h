// SPDX-License-Identifier: BSD-2-Clause
// Writes untrusted strings: any user can choose names of tasks and files. These must not break JSON
// or control a terminal.
#pragma once

#include <string_view>

#include "base/text/plain_text.h"
#include "decoders/text/text_buffer.h"

namespace ktraced {

// A JSON string with its quotes. Characters for which is_hidden() is true become \uXXXX; each byte
// of invalid UTF-8 becomes U+FFFD.
void append_json_string(std::string_view bytes, TextBuffer& out);

// Appends what printable() makes of `bytes`.
void append_printable(std::string_view bytes, TextBuffer& out);

// Appends a text as a cell of CSV, in quotes if it needs them. "'" comes before "=1+1", "-x", "+x"
// and "@x", so that a spreadsheet does not take a file name or an argument for a formula.
void append_csv_text(std::string_view text, TextBuffer& out);

}  // namespace ktraced
