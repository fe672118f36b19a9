// SPDX-License-Identifier: BSD-2-Clause
// Prints the rows of queries.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/query/result.h"
#include "ctl/terminal/screen.h"
#include "ctl/terminal/terminal.h"

namespace ktraced {

// A table for people, comma-separated values, or a JSON object for each row.
enum class ResultForm : uint8_t { table, csv, json };

// Writes to standard output. A table's columns are as wide as their first kMeasuredRows rows need.
class ResultPrinter : public ResultSink {
 public:
  static constexpr size_t kMeasuredRows = 1000;

  ResultPrinter(ResultForm form, const Colours& colours, bool terminal)
      : form_(form), colours_(colours), terminal_(terminal) {}

  void begin(const std::vector<std::string>& columns) override;
  Result<bool> row(const ResultRow& row) override;
  Result<> end() override;
  void fail() override;
  // Rows printed since begin().
  [[nodiscard]] size_t rows() const { return rows_; }

 private:
  struct Cell {
    std::string text;
    size_t width = 0;  // in columns of a terminal
    bool right = false;
  };
  using Cells = std::vector<Cell>;

  void add_cells(const ResultRow& row);
  void flush_table();
  void append_cells(const Cells& cells, bool heading);
  void append_csv(const ResultRow& row);
  void append_csv_cell(std::string_view text);
  void append_json(const ResultRow& row);

  ResultForm form_;
  Colours colours_;
  bool terminal_;
  Screen screen_;
  TextBuffer out_;
  std::vector<std::string> columns_;
  std::vector<Cells> measured_;  // rows that wait until the widths are known
  std::vector<size_t> widths_;   // empty: not yet known
  size_t rows_ = 0;
};

}  // namespace ktraced
