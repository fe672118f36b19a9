// SPDX-License-Identifier: BSD-2-Clause
// Lists of names on the command line.
#pragma once

#include <string_view>
#include <vector>

namespace ktraced {

// "a,b,,c" → a, b, c. The parts refer to `text`.
[[nodiscard]] std::vector<std::string_view> split_list(std::string_view text);

}  // namespace ktraced
