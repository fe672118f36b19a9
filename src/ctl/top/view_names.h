// SPDX-License-Identifier: BSD-2-Clause
// The names of views on the command line.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/input/options.h"

namespace ktraced {

inline constexpr std::array<std::string_view, 4> kTopViewNames{"events", "processes", "calls",
                                                               "sessions"};

[[nodiscard]] inline std::string_view view_name(TopView view) {
  return kTopViewNames[static_cast<size_t>(view)];
}

// Nothing: there is no such view.
[[nodiscard]] inline std::optional<TopView> top_view_named(std::string_view name) {
  const auto found = std::ranges::find(kTopViewNames, name);
  if (found == kTopViewNames.end()) return std::nullopt;
  return static_cast<TopView>(found - kTopViewNames.begin());
}

[[nodiscard]] inline std::vector<std::string> top_view_names() {
  return {kTopViewNames.begin(), kTopViewNames.end()};
}

}  // namespace ktraced
