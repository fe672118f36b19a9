// SPDX-License-Identifier: BSD-2-Clause
// The rows of a query.
#pragma once

#include <sqlite3.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace ktraced {

// The current row of a statement; valid until the next one.
class ResultRow {
 public:
  enum class Type : uint8_t { null, integer, real, text, bytes };

  explicit ResultRow(sqlite3_stmt* statement) : statement_(statement) {}

  [[nodiscard]] size_t size() const {
    return static_cast<size_t>(sqlite3_column_count(statement_));
  }
  [[nodiscard]] Type type(size_t column) const;
  [[nodiscard]] double real(size_t column) const {
    return sqlite3_column_double(statement_, static_cast<int>(column));
  }
  // Numbers as SQLite writes them, bytes as they are, nothing for NULL. Call type() before.
  [[nodiscard]] std::string_view text(size_t column) const;

 private:
  sqlite3_stmt* statement_;
};

// Takes the results of statements.
class ResultSink {
 public:
  virtual ~ResultSink() = default;
  virtual void begin(const std::vector<std::string>& columns) = 0;
  // Fails if it cannot be written. False: no more rows are needed.
  virtual Result<bool> row(const ResultRow& row) = 0;
  virtual Result<> end() = 0;
  // The statement failed: called instead of end(). Rows that are not yet written are dropped.
  virtual void fail() {}
};

}  // namespace ktraced
