// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/probes/probe_words.h"

#include <algorithm>

#include "base/text/c_text.h"

namespace ktraced {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

// Function names as compilers generate them: "kfree_it.part.0", "__pfx_x$y"; and patterns.
bool is_symbol(std::string_view text) {
  constexpr std::string_view kOthers = ".$*?";
  return !text.empty() && !is_digit_char(text[0]) &&
         std::ranges::all_of(text, [&](char c) { return is_word_char(c) || kOthers.contains(c); });
}

// Length of the first word of `text`; nothing if a \" is not closed.
std::optional<size_t> word_length(std::string_view text) {
  size_t at = 0;
  while (at < text.size() && !is_blank(text[at])) {
    if (text.substr(at).starts_with("\\\"")) {
      at = text.find('"', at + 2);
      if (at == std::string_view::npos) return std::nullopt;
    }
    at++;
  }
  return at;
}

Parsed<> split_module(Piece& word, ProbeLocation& location) {
  const size_t colon = word.text.find(':');
  if (colon == std::string_view::npos) return {};
  std::string module(word.text.substr(0, colon));
  std::ranges::replace(module, '-', '_');
  if (!is_name(module)) return wrong(word.column, "'{}' is not a name of a module", module);
  location.module = std::move(module);
  word = word.from(colon + 1);
  return {};
}

}  // namespace

std::optional<uint64_t> unsigned_number(std::string_view text) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X"))
    base = 16, text.remove_prefix(2);
  else if (text.size() > 1 && text[0] == '0')
    base = 8, text.remove_prefix(1);
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> signed_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  auto value = unsigned_number(text);
  if (!value) return std::nullopt;
  return static_cast<int64_t>(negative ? -*value : *value);
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kProbeNameMax && !is_digit_char(text[0]) &&
         std::ranges::all_of(text, is_word_char);
}

Parsed<std::vector<Piece>> words_of(std::string_view line) {
  std::vector<Piece> words;
  for (size_t at = 0; at < line.size();) {
    if (is_blank(line[at])) {
      at++;
      continue;
    }
    if (line[at] == '#') break;
    auto length = word_length(line.substr(at));
    if (!length) return wrong(at + 1, "a \\\" string has no end: put '\"' behind it");
    words.push_back({.text = line.substr(at, *length), .column = at + 1});
    at += *length;
  }
  return words;
}

Parsed<ProbeLocation> parse_location(Piece word) {
  ProbeLocation location;
  location.column = word.column;
  if (auto address = unsigned_number(word.text)) {
    if (*address == 0) return wrong(word.column, "0 is not an address of a kernel function");
    location.address = *address;
    return location;
  }
  if (auto done = split_module(word, location); !done) return std::unexpected(done.error());
  const size_t sign = word.text.find_first_of("+-");
  const Piece symbol = word.until(sign);
  if (!is_symbol(symbol.text))
    return wrong(symbol.column,
                 "'{}' is neither the name of a function nor an address: write SYMBOL, "
                 "MODULE:SYMBOL, SYMBOL+OFFSET or 0xADDRESS",
                 symbol.text);
  location.symbol = symbol.text;
  if (sign == std::string_view::npos) return location;
  const Piece offset = word.from(sign);
  const auto value = signed_number(offset.text);
  const bool fits = value && (*value == 0 || (*value < 0) == offset.text.starts_with('-'));
  if (!fits)
    return wrong(offset.column, "'{}' is not an offset: give a number of bytes, as in +16 or +0x10",
                 offset.text);
  location.offset = *value;
  if (location.is_pattern() && location.offset != 0)
    return wrong(offset.column, "a pattern of function names cannot have an offset");
  return location;
}

}  // namespace ktraced
