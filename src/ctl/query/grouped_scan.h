// SPDX-License-Identifier: BSD-2-Clause
// The rows of a table, sorted by the columns of a GROUP BY.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ctl/query/distinct_rows.h"
#include "ctl/query/query_table.h"

namespace ktraced {

// How rows are sorted: as SQLite sorts them, NULL first, then numbers, then texts by their bytes.
struct Grouping {
  struct Key {
    size_t column = 0;
    bool descending = false;
  };
  std::vector<Key> keys;
  // The columns that the query uses, the keys among them. No others can be read.
  std::vector<size_t> used;
};

// Reads all rows of another scan before its first one, which makes GROUP BY several times as fast
// as SQLite's sorting. Rows that are equal in the used columns are stored once, with their number.
// If most of the first rows differ although their keys do not, the rows from then on are stored one
// by one, with the number of their group: only the groups are sorted.
class GroupedScan : public RowScan {
 public:
  // Stops when it has stored about `memory` bytes.
  GroupedScan(std::unique_ptr<RowScan> rows, Grouping grouping, uint64_t memory);

  bool next() override;
  Value value(size_t column) override;
  // Differs from that of the scan: its rows are not kept apart.
  int64_t rowid() override { return number_; }
  // Has the scan ended because there was not enough memory?
  [[nodiscard]] bool out_of_memory() const { return out_of_memory_; }

 private:
  using Cell = DistinctRows::Cell;
  // After so many rows it is decided how the others are stored.
  static constexpr uint64_t kSample = 32768;

  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  // The keys of rows, each set of them once.
  struct Groups {
    DistinctRows keys;
    std::vector<uint32_t> of_rows;
  };

  void read_all();
  [[nodiscard]] Cell cell_of(const Value& value);
  int64_t number_of_text(std::string_view text);
  void add_row();
  void choose_groups();
  uint32_t group_of(std::span<const Cell> row, DistinctRows& groups);
  [[nodiscard]] uint64_t bytes() const;
  void sort();
  void sort_by_group();
  [[nodiscard]] bool before(const Cell& a, const Cell& b) const;
  [[nodiscard]] uint64_t count_of(uint32_t row) const {
    return row < counts_.size() ? counts_[row] : 1;
  }

  std::unique_ptr<RowScan> rows_;
  Grouping grouping_;
  uint64_t memory_;
  bool read_ = false, out_of_memory_ = false;
  std::vector<size_t> place_;  // of a column in the cells of a row
  std::vector<Cell> row_, keys_;
  uint64_t taken_ = 0;  // rows of the scan
  DistinctRows stored_;
  std::vector<uint64_t> counts_;  // of stored rows; further ones are there once
  std::optional<Groups> groups_;  // if rows are stored one by one
  std::unordered_map<std::string, int64_t, TextHash, std::equal_to<>> numbers_;
  std::vector<const std::string*> texts_;  // by number
  uint64_t text_bytes_ = 0;
  std::vector<uint32_t> sorted_;
  size_t at_ = 0;       // in sorted_
  uint64_t given_ = 0;  // of the current stored row
  int64_t number_ = 0;  // of rows given
};

}  // namespace ktraced
