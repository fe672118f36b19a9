// Lists of names as people type them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ktraced {

// "a,b,,c" → a, b, c. The parts are parts of `text`.
[[nodiscard]] std::vector<std::string_view> split_list(std::string_view text);

// Up to three of `names` that may be meant by `typed`, likeliest first.
[[nodiscard]] std::vector<std::string> near_matches(std::string_view typed,
                                                    std::span<const std::string> names);

}  // namespace ktraced
