// SPDX-License-Identifier: BSD-2-Clause
// Printed text, to be compared line by line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files/lines.h"

namespace ktraced::test {

inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  for_each_line(text, [&](std::string_view line) { lines.emplace_back(line); });
  return lines;
}

}  // namespace ktraced::test
