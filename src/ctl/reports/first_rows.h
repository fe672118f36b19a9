// SPDX-License-Identifier: BSD-2-Clause
// The rows of a table, as JSON.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace ktraced {

// {"rows","of"}: at most `top` of the rows in the order of `before`, each as `make` makes it, and
// the number of all.
template <class Row, class Before, class Make>
[[nodiscard]] nlohmann::json first_rows(const std::vector<Row>& all, uint64_t top, Before before,
                                        Make make) {
  std::vector<const Row*> rows;
  rows.reserve(all.size());
  for (const Row& row : all) rows.push_back(&row);
  const size_t shown = std::min<size_t>(rows.size(), top);
  std::ranges::stable_sort(rows, [&](const Row* a, const Row* b) { return before(*a, *b); });
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < shown; ++i) list.push_back(make(*rows[i]));
  return {{"rows", std::move(list)}, {"of", rows.size()}};
}

}  // namespace ktraced
