// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/query/distinct_rows.h"

#include <algorithm>

namespace ktraced {

size_t DistinctRows::hash(std::span<const Cell> row) {
  constexpr size_t kMultiplier = 0x9e3779b97f4a7c15;
  size_t sum = 0;
  for (const Cell& cell : row) {
    sum = (sum ^ static_cast<size_t>(cell.number) ^ static_cast<size_t>(cell.type)) * kMultiplier;
    sum ^= sum >> 32;
  }
  return sum;
}

// Makes room for twice as many rows.
void DistinctRows::grow() {
  slots_.assign(std::max<size_t>(1024, 2 * slots_.size()), kEmpty);
  for (uint32_t row = 0; row < size(); ++row) {
    size_t slot = hash(at(row)) & (slots_.size() - 1);
    while (slots_[slot] != kEmpty) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = row;
  }
}

uint32_t DistinctRows::number_of(std::span<const Cell> row) {
  if (2 * (size_t{size()} + 1) > slots_.size()) grow();
  size_t slot = hash(row) & (slots_.size() - 1);
  for (; slots_[slot] != kEmpty; slot = (slot + 1) & (slots_.size() - 1))
    if (std::ranges::equal(row, at(slots_[slot]))) return slots_[slot];
  slots_[slot] = size();
  append(row);
  return slots_[slot];
}

}  // namespace ktraced
