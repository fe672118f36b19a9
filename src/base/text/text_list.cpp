// SPDX-License-Identifier: BSD-2-Clause
#include "base/text/text_list.h"

namespace ktraced {

std::vector<std::string> list_entries(std::string_view text) {
  std::vector<std::string> entries(1);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\\,")
      entries.back() += text[++i];
    else if (text[i] == ',')
      entries.emplace_back();
    else
      entries.back() += text[i];
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
  for (const std::string& entry : entries) {
    if (!text.empty()) text += ',';
    for (const char c : entry) {
      if (c == ',') text += '\\';
      text += c;
    }
  }
  return text;
}

}  // namespace ktraced
