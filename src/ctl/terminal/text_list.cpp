// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/terminal/text_list.h"

#include <algorithm>

namespace ktraced {

std::vector<std::string_view> split_list(std::string_view text) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    if (comma != 0) parts.push_back(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return parts;
}

}  // namespace ktraced
