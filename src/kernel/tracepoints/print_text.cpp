// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/tracepoints/print_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/c_text.h"

namespace ktraced {
namespace {

// Does this conversion (the text after '%') print a pointer as a symbol? Advances past it.
bool take_symbol_conversion(std::string_view& format) {
  const size_t letter = std::min(format.find_first_not_of("-+ #0123456789.lhzLtj"), format.size());
  const std::string_view conversion = format.substr(letter);
  format.remove_prefix(std::min(letter + 1, format.size()));
  if (!conversion.starts_with('p') || conversion.size() < 2) return false;
  return std::string_view("SsBfF").contains(conversion[1]);
}

// The field of "(void *)REC->ip"; empty for any other expression.
std::string_view only_field(std::string_view argument) {
  constexpr std::string_view kRecord = "REC->";
  const size_t at = argument.rfind(kRecord);
  if (at == std::string_view::npos || argument.find(kRecord) != at) return {};
  const std::string_view rest = argument.substr(at + kRecord.size());
  const auto end = std::ranges::find_if_not(rest, is_word_char);
  const std::string_view behind(end, rest.end());
  return behind.find_first_not_of(" )") == std::string_view::npos
             ? std::string_view(rest.begin(), end)
             : std::string_view();
}

}  // namespace

std::vector<std::string> fields_printed_as_symbols(std::string_view print) {
  std::vector<std::string> fields;
  const auto arguments = split_arguments(print);
  const auto format =
      arguments && !arguments->empty() ? string_literal(arguments->front()) : std::nullopt;
  if (!format) return fields;
  size_t next = 1;
  for (std::string_view rest = *format; !rest.empty();) {
    const bool conversion = rest.starts_with('%');
    rest.remove_prefix(1);
    if (!conversion) continue;
    if (rest.starts_with('%')) {
      rest.remove_prefix(1);
      continue;
    }
    const bool symbol = take_symbol_conversion(rest);
    const size_t argument = next++;
    if (!symbol || argument >= arguments->size()) continue;
    if (auto field = only_field((*arguments)[argument]); !field.empty()) fields.emplace_back(field);
  }
  return fields;
}

std::string with_constants(
    std::string_view print,
    const std::function<std::optional<int64_t>(const std::string& name)>& value_of) {
  std::string out;
  for (size_t at = 0; at < print.size();) {
    const char c = print[at];
    if (c == '"' || c == '\'') {
      const size_t end = end_of_literal(print, at);
      out += print.substr(at, end - at);
      at = end;
      continue;
    }
    if (!is_word_char(c)) {
      out += c;
      ++at;
      continue;
    }
    size_t end = at;
    while (end < print.size() && is_word_char(print[end])) ++end;
    const std::string word(print.substr(at, end - at));
    // Members follow "->", functions and casts have brackets; constants are written in capitals.
    const bool constant = !is_digit_char(c) && word != "REC" && !out.ends_with("->") &&
                          !print.substr(end).starts_with('(') &&
                          std::ranges::any_of(word, [](char w) { return w >= 'A' && w <= 'Z'; });
    const auto value = constant ? value_of(word) : std::nullopt;
    out += !value ? word : *value < 0 ? fmt::format("({})", *value) : fmt::format("{}", *value);
    at = end;
  }
  return out;
}

}  // namespace ktraced
