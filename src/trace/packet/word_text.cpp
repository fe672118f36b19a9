// SPDX-License-Identifier: BSD-2-Clause
#include "trace/packet/word_text.h"

#include <algorithm>

namespace ktraced {
namespace {

void append_quoted(std::string_view word, std::string& out) {
  static constexpr std::string_view kQuoted = " \t\n\r\v\f'\"\\";
  const auto is_quoted = [](char c) { return c == LOCATED_WORD_BLANK || kQuoted.contains(c); };
  if (!word.empty() && std::ranges::none_of(word, is_quoted)) {
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
