// SPDX-License-Identifier: BSD-2-Clause
// Distinguishes threads or processes that have used the same id.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

namespace ktraced {

// Numbers identities from 0 on, in order of appearance: one for each id and start time. Memory:
// `limit` identities.
class Identities {
 public:
  explicit Identities(size_t limit) : limit_(limit) {}

  // `start_ns` 0: unknown, so the latest identity with that id is used. Nothing if there are too
  // many identities.
  std::optional<uint32_t> number_of(uint64_t id, uint64_t start_ns) {
    Entry* last = nullptr;
    Entry* unknown = nullptr;
    const auto [begin, end] = entries_.equal_range(id);
    for (auto each = begin; each != end; ++each) {
      Entry& entry = each->second;
      if (entry.start_ns == start_ns) return entry.number;
      if (entry.start_ns == 0) unknown = &entry;
      if (last == nullptr || entry.number > last->number) last = &entry;
    }
    if (start_ns == 0 && last != nullptr) return last->number;
    if (unknown != nullptr) {
      unknown->start_ns = start_ns;
      return unknown->number;
    }
    if (entries_.size() >= limit_) return std::nullopt;
    const auto number = static_cast<uint32_t>(entries_.size());
    entries_.emplace(id, Entry{.start_ns = start_ns, .number = number});
    return number;
  }

 private:
  struct Entry {
    uint64_t start_ns = 0;
    uint32_t number = 0;
  };

  size_t limit_;
  std::unordered_multimap<uint64_t, Entry> entries_;
};

}  // namespace ktraced
