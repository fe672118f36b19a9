// SPDX-License-Identifier: BSD-2-Clause
#include "trace/packet/word_text.h"

#include <algorithm>

#include "base/text/c_text.h"

namespace ktraced {
namespace {

// Means itself to every shell, wherever it stands: letters, digits, bytes outside of ASCII, and a
// few signs.
bool is_plain(char c) {
  return is_word_char(c) || static_cast<unsigned char>(c) >= 0x80 ||
         std::string_view("@%+=:,./-").contains(c);
}

void append_quoted(std::string_view word, std::string& out) {
  if (!word.empty() && std::ranges::all_of(word, is_plain)) {
    out += word;
    return;
  }
  out += '\'';
  for (const char c : word) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c == LOCATED_WORD_BLANK ? ' ' : c;
  }
  out += '\'';
}

}  // namespace

std::string quoted_words(std::string_view recorded) {
  std::string out;
  if (recorded.empty()) return out;
  for (size_t at = 0; at != std::string_view::npos;) {
    const size_t end = recorded.find(' ', at);
    append_quoted(recorded.substr(at, end - at), out);
    if (end != std::string_view::npos) out += ' ';
    at = end == std::string_view::npos ? end : end + 1;
  }
  return out;
}

}  // namespace ktraced
