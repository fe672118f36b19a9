// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/c_text.h"

#include <algorithm>

namespace ktraced {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n'; }

}  // namespace

bool is_decimal_text(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_digit_char);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// Position after the string or character literal that begins at `at`.
size_t end_of_literal(std::string_view text, size_t at) {
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != quote; ++at)
    if (text[at] == '\\') ++at;
  return std::min(at + 1, text.size());
}

std::optional<std::vector<std::string_view>> split_arguments(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = end_of_literal(text, at);
      continue;
    }
    if (c == '(' || c == '{' || c == '[') ++depth;
    if (c == ')' || c == '}' || c == ']') --depth;
    if (depth < 0) return std::nullopt;
    if (c == ',' && depth == 0) {
      parts.push_back(trimmed(text.substr(begin, at - begin)));
      begin = at + 1;
    }
    ++at;
  }
  if (depth != 0) return std::nullopt;
  if (auto last = trimmed(text.substr(begin)); !last.empty()) parts.push_back(last);
  return parts;
}

std::optional<std::string> string_literal(std::string_view text) {
  std::string out;
  text = trimmed(text);
  if (!text.starts_with('"')) return std::nullopt;
  while (!text.empty()) {
    if (text.front() != '"') return std::nullopt;
    const size_t end = end_of_literal(text, 0);
    if (end < 2 || text[end - 1] != '"') return std::nullopt;
    for (size_t at = 1; at + 1 < end; ++at) {
      if (text[at] != '\\') {
        out += text[at];
        continue;
      }
      const char c = text[++at];
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
    }
    text = trimmed(text.substr(end));
  }
  return out;
}

}  // namespace ktraced
