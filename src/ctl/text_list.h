// SPDX-License-Identifier: BSD-2-Clause
// Lists of names as people type them.
#pragma once

#include <string_view>
#include <vector>

namespace ktraced {

// "a,b,,c" → a, b, c. The parts are parts of `text`.
[[nodiscard]] std::vector<std::string_view> split_list(std::string_view text);

}  // namespace ktraced
