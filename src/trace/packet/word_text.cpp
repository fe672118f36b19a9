// SPDX-License-Identifier: BSD-2-Clause
#include "trace/packet/word_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/c_text.h"
#include "base/text/plain_text.h"

namespace ktraced {
namespace {

// Means itself to every shell, wherever it stands: letters, digits, bytes outside of ASCII, and a
// few signs.
bool is_plain(char c) {
  return is_word_char(c) || static_cast<unsigned char>(c) >= 0x80 ||
         std::string_view("@%+=:,./-").contains(c);
}

// The character at the start of `text` (not empty), or a byte that is none.
std::string_view first_character(std::string_view text) {
  return text.substr(0, std::max<size_t>(utf8_length(text), 1));
}

// Would printable() change it, so that it could not be copied from a terminal?
bool needs_escape(std::string_view character) {
  return utf8_length(character) == 0 || is_hidden(code_point(character));
}

bool has_escapes(std::string_view word) {
  for (; !word.empty(); word.remove_prefix(first_character(word).size()))
    if (needs_escape(first_character(word))) return true;
  return false;
}

// $'…', with octal numbers of all three digits, whatever follows.
std::string escaped(std::string_view word) {
  std::string out = "$'";
  while (!word.empty()) {
    const std::string_view character = first_character(word);
    word.remove_prefix(character.size());
    if (character == "\n")
      out += "\\n";
    else if (character == "\t")
      out += "\\t";
    else if (character == "'" || character == "\\")
      out.append("\\").append(character);
    else if (needs_escape(character))
      for (const char c : character) out += fmt::format("\\{:03o}", static_cast<unsigned char>(c));
    else
      out += character;
  }
  return out + '\'';
}

}  // namespace

std::string quoted_word(std::string_view word) {
  if (has_escapes(word)) return escaped(word);
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return std::string(word);
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out + '\'';
}

std::string quoted_words(std::string_view recorded) {
  std::string out;
  if (recorded.empty()) return out;
  for (size_t at = 0; at != std::string_view::npos;) {
    const size_t end = recorded.find(' ', at);
    std::string word(recorded.substr(at, end - at));
    std::ranges::replace(word, char{LOCATED_WORD_BLANK}, ' ');
    out += quoted_word(word);
    if (end != std::string_view::npos) out += ' ';
    at = end == std::string_view::npos ? end : end + 1;
  }
  return out;
}

std::string show_command(const std::vector<std::string>& paths) {
  std::string out = "ktracectl show";
  for (const std::string& path : paths) out += ' ' + quoted_word(path);
  return out;
}

}  // namespace ktraced
