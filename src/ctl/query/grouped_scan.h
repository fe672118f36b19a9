// SPDX-License-Identifier: BSD-2-Clause
// The rows of a table, sorted by the columns of a GROUP BY.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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

// Reads all rows of another scan before its first one. Rows that are equal in the used columns are
// stored once, with their number, which makes GROUP BY several times as fast as SQLite's sorting.
class GroupedScan : public RowScan {
 public:
  // Stops when it has stored about `memory` bytes.
  GroupedScan(std::unique_ptr<RowScan> rows, Grouping grouping, uint64_t memory);

  bool next() override;
  Value value(size_t column) override;
  // Differs from that of the scan: its rows are not kept apart.
  int64_t rowid() override { return number_; }
  // It ended because there was not enough memory.
  [[nodiscard]] bool out_of_memory() const { return out_of_memory_; }

 private:
  struct Cell {
    int64_t number = 0;  // of a text: its index in texts_
    Value::Type type = Value::Type::null;

    bool operator==(const Cell&) const = default;
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };

  void read_all();
  [[nodiscard]] Cell cell_of(const Value& value);
  int64_t number_of_text(std::string_view text);
  // Counts the row in row_.
  void add_row();
  void grow();
  void sort();
  [[nodiscard]] bool before(const Cell& a, const Cell& b) const;
  [[nodiscard]] size_t hash(const Cell* cells) const;
  [[nodiscard]] const Cell* cells_of(size_t group) const { return &cells_[group * width_]; }

  static constexpr uint32_t kEmpty = UINT32_MAX;

  std::unique_ptr<RowScan> rows_;
  Grouping grouping_;
  size_t width_;
  uint64_t memory_;
  bool read_ = false, out_of_memory_ = false;
  std::vector<size_t> place_;  // of a column in the cells of a row
  std::vector<Cell> row_;
  std::vector<Cell> cells_;       // of all different rows
  std::vector<uint64_t> counts_;  // of each different row
  std::vector<uint32_t> slots_;   // hash table of different rows
  std::unordered_map<std::string, int64_t, TextHash, std::equal_to<>> numbers_;
  std::vector<const std::string*> texts_;  // by number
  uint64_t text_bytes_ = 0;
  std::vector<uint32_t> sorted_;
  size_t at_ = 0;       // in sorted_
  uint64_t given_ = 0;  // of the current different row
  int64_t number_ = 0;  // of rows given
};

}  // namespace ktraced
