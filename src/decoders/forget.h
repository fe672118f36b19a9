// SPDX-License-Identifier: BSD-2-Clause
// How tables of what is going on stay bounded, although what ends unseen stays in them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace ktraced {

// Takes out the half of the entries that has been there longest by `since`, a time of each value:
// the likeliest to be over. Returns how many.
template <class Key, class Value, class Since>
uint64_t forget_older_half(std::unordered_map<Key, Value>& entries, Since since) {
  if (entries.empty()) return 0;
  std::vector<uint64_t> times;
  times.reserve(entries.size());
  for (const auto& [key, value] : entries) times.push_back(since(value));
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::ranges::nth_element(times, middle);
  return std::erase_if(entries, [&](const auto& entry) { return since(entry.second) <= *middle; });
}

}  // namespace ktraced
