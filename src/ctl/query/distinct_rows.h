// SPDX-License-Identifier: BSD-2-Clause
// Rows of cells, each stored once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ctl/query/query_table.h"

namespace ktraced {

// Rows of a fixed width in the order in which they were added, and a hash table of them.
class DistinctRows {
 public:
  // A value of which a text is replaced by its number in a table of texts.
  struct Cell {
    int64_t number = 0;
    Value::Type type = Value::Type::null;

    bool operator==(const Cell&) const = default;
  };
  static constexpr uint32_t kMost = UINT32_MAX - 1;

  explicit DistinctRows(size_t width) : width_(width) {}

  // The number of the row, which is added if it is new.
  uint32_t number_of(std::span<const Cell> row);
  // Adds the row even if it is there already. After that, number_of() must not be called.
  void append(std::span<const Cell> row) { cells_.insert(cells_.end(), row.begin(), row.end()); }
  // Gives back the memory of the hash table; only append() may follow.
  void drop_index() { slots_ = {}; }

  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(cells_.size() / width_); }
  [[nodiscard]] std::span<const Cell> at(size_t row) const {
    return {&cells_[row * width_], width_};
  }
  [[nodiscard]] uint64_t bytes() const {
    return cells_.capacity() * sizeof(Cell) + slots_.capacity() * sizeof(uint32_t);
  }

 private:
  static constexpr uint32_t kEmpty = UINT32_MAX;

  static size_t hash(std::span<const Cell> row);
  void grow();

  size_t width_;
  std::vector<Cell> cells_;
  std::vector<uint32_t> slots_;
};

}  // namespace ktraced
