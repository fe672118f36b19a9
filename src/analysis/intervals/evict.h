// SPDX-License-Identifier: BSD-2-Clause
// Evicts the oldest entries, so that tables stay bounded when end events are lost.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace ktraced {

// Removes the oldest half of the entries by `since`, a time of each value: these have most likely
// ended. Calls `evicted` for each of them before. Returns their number.
template <class Key, class Value, class Since, class Evicted>
uint64_t evict_older_half(std::unordered_map<Key, Value>& entries, Since since, Evicted evicted) {
  if (entries.empty()) return 0;
  std::vector<uint64_t> times;
  times.reserve(entries.size());
  for (const auto& [key, value] : entries) times.push_back(since(value));
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>((times.size() - 1) / 2);
  std::ranges::nth_element(times, middle);
  return std::erase_if(entries, [&](const auto& entry) {
    if (since(entry.second) > *middle) return false;
    evicted(entry.first, entry.second);
    return true;
  });
}

template <class Key, class Value, class Since>
uint64_t evict_older_half(std::unordered_map<Key, Value>& entries, Since since) {
  return evict_older_half(entries, since, [](const Key&, const Value&) {});
}

}  // namespace ktraced
