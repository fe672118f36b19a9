// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/text_list.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace ktraced {

std::vector<std::string> list_entries(std::string_view text) {
  std::vector<std::string> entries(1);
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t run = std::min(text.find_first_not_of('\\', i), text.size()) - i;
    i += run;
    if (i == text.size() || text[i] != ',') {
      entries.back().append(run, '\\').append(text.substr(i, 1));
      continue;
    }
    entries.back().append(run / 2, '\\');
    if (run % 2 != 0)
      entries.back() += ',';
    else
      entries.emplace_back();
  }
  return entries;
}

std::vector<std::string> split_list(std::string_view text) {
  auto entries = list_entries(text);
  std::erase(entries, "");
  return entries;
}

std::string join_list(const std::vector<std::string>& entries) {
  std::string text;
  size_t run = 0;  // backslashes at the end of `text`
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i != 0) text.append(std::exchange(run, 0), '\\').append(",");
    for (const char c : entries[i]) {
      if (c == ',') text.append(run + 1, '\\');
      run = c == '\\' ? run + 1 : 0;
      text += c;
    }
  }
  return text;
}

std::string names_or_count(std::span<const std::string> names, std::string_view what) {
  if (names.size() > kNamesInMessage) return fmt::format("{} {}", names.size(), what);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace ktraced
