// SPDX-License-Identifier: BSD-2-Clause
// Lists of names in messages.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ktraced {

// Longer lists are shown as a count.
inline constexpr size_t kNamesInMessage = 24;

// "a, b, c"; of many names their number: "213 events".
[[nodiscard]] inline std::string names_or_count(std::span<const std::string> names,
                                                std::string_view what) {
  if (names.size() > kNamesInMessage) return fmt::format("{} {}", names.size(), what);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace ktraced
