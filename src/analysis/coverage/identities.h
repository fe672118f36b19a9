// SPDX-License-Identifier: BSD-2-Clause
// Distinguishes threads or processes that have used the same id.
#pragma once

#include <array>
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
    Recent& recent = recent_[id % kRecent];
    const bool is_recent = start_ns != 0 && recent.id == id && recent.start_ns == start_ns;
    const uint32_t number = is_recent ? recent.number : find_or_add(id, start_ns);
    if (number == kNone) return std::nullopt;
    if (!is_recent && start_ns != 0) recent = {.id = id, .start_ns = start_ns, .number = number};
    return number;
  }

 private:
  struct Entry {
    uint64_t start_ns = 0;
    uint32_t number = 0;
  };
  // An identity with a known start time, which keeps its number.
  struct Recent {
    uint64_t id = 0;
    uint64_t start_ns = 0;  // 0: none
    uint32_t number = 0;
  };
  static constexpr size_t kRecent = 256;

  // Plain integers: GCC 12 puts an inlined std::optional of 32 bits together in memory, which
  // stalls.
  static constexpr uint32_t kNone = UINT32_MAX;

  // kNone: there are too many.
  uint32_t find_or_add(uint64_t id, uint64_t start_ns) {
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
    if (entries_.size() >= limit_) return kNone;
    const auto number = static_cast<uint32_t>(entries_.size());
    entries_.emplace(id, Entry{.start_ns = start_ns, .number = number});
    return number;
  }

  size_t limit_;
  std::array<Recent, kRecent> recent_{};  // by id, to look up most identities quickly
  std::unordered_multimap<uint64_t, Entry> entries_;
};

}  // namespace ktraced
