// SPDX-License-Identifier: BSD-2-Clause
// Rows in memory, and scans of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/query/query_table.h"
#include "ctl/tables/wall_clock.h"

namespace ktraced {

// Rows of values, added one value after another.
class StoredRows {
 public:
  // `width`: the number of columns.
  explicit StoredRows(size_t width) : width_(width) {}

  void null() { values_.emplace_back(); }
  void integer(uint64_t number) { values_.push_back({.type = Type::integer, .number = number}); }
  // NULL if there is none.
  void integer(std::optional<uint64_t> number) { number ? integer(*number) : null(); }
  // A text of a trace: it is made safe for a terminal.
  void text(std::string_view text);
  // A text that lives as long as the program; empty: NULL.
  void name(std::string_view text);
  // A wall-clock time, ns since 1970; NULL if there is none.
  void wall(std::optional<uint64_t> ns);

  [[nodiscard]] size_t size() const { return values_.size() / width_; }
  // Valid until the next call and until the rows change.
  [[nodiscard]] Value at(size_t row, size_t column, WallClock& clock) const;
  // The number in a column; nothing if it is NULL.
  [[nodiscard]] std::optional<uint64_t> number_at(size_t row, size_t column) const;
  // The hash of all values of a row.
  [[nodiscard]] size_t hash(size_t row) const;
  void clear() { values_.clear(); }

 private:
  enum class Type : uint8_t { null, integer, text, name, wall };
  struct Stored {
    Type type = Type::null;
    uint64_t number = 0;  // of a name: its length
    std::string text;
    const char* name = nullptr;
  };

  size_t width_;
  std::vector<Stored> values_;
};

// A scan that computes some rows at a time.
class BatchScan : public RowScan {
 public:
  // `columns` belong to the table, and outlive this as `stop` does.
  BatchScan(const std::vector<Column>& columns, ScanLimits limits, const std::atomic<bool>& stop);

  bool next() override;
  Value value(size_t column) override { return rows_.at(at_, column, clock_); }
  int64_t rowid() override { return static_cast<int64_t>(before_ + at_); }

 protected:
  // Adds rows, perhaps none; false: there are no more after these.
  virtual bool add_rows(StoredRows& rows) = 0;
  [[nodiscard]] StoredRows& rows() { return rows_; }
  // The hash of the values of the current row.
  [[nodiscard]] int64_t row_hash() const { return static_cast<int64_t>(rows_.hash(at_)); }

 private:
  [[nodiscard]] bool matches(size_t row) const;

  // Columns that limits apply to, and the numbers that they allow, sorted.
  struct Allowed {
    size_t column = 0;
    std::vector<uint32_t> numbers;
  };
  std::vector<Allowed> allowed_;
  const std::atomic<bool>& stop_;
  StoredRows rows_;
  size_t at_ = 0;         // the current row
  size_t following_ = 0;  // the next one
  uint64_t before_ = 0;   // rows of earlier batches
  bool more_ = true;
  WallClock clock_;
};

// A scan of rows that are sorted by their first column.
class SortedScan : public RowScan {
 public:
  // `keys`: only rows with these numbers in the first column, sorted. `rows` must outlive this.
  SortedScan(const StoredRows& rows, std::optional<std::vector<uint32_t>> keys)
      : rows_(rows), keys_(std::move(keys)) {}

  bool next() override;
  Value value(size_t column) override { return rows_.at(at_, column, clock_); }
  int64_t rowid() override { return static_cast<int64_t>(at_); }

 private:
  const StoredRows& rows_;
  std::optional<std::vector<uint32_t>> keys_;
  size_t key_ = 0;  // the next one of keys_
  size_t at_ = 0, following_ = 0;
  size_t end_ = 0;  // of the rows with the current key
  WallClock clock_;
};

}  // namespace ktraced
