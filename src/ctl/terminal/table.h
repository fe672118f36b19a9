// SPDX-License-Identifier: BSD-2-Clause
// Columns of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/terminal/terminal.h"

namespace ktraced {

// The columns of a terminal that a printable() text takes: a character may take two, or none.
[[nodiscard]] size_t text_columns(std::string_view text);
// The beginning of `text` that fits into `columns`; never a part of a character.
[[nodiscard]] std::string cut_to(std::string_view text, size_t columns);
// The text if it fits into `columns`, which are at least 3; else its beginning with "...".
[[nodiscard]] std::string shortened_to(std::string_view text, size_t columns);
// The text if it fits into `columns`, which are at least 3; else its beginning and its end, with
// "..." between them.
[[nodiscard]] std::string shortened_within(std::string_view text, size_t columns);
// The text with exactly that many columns: cut, or filled with spaces on its right or left.
[[nodiscard]] std::string filled_to(std::string_view text, size_t columns, bool right = false);

// Rows of cells, padded to the width of their column.
class Table {
 public:
  // Colours a padded cell for output.
  using Paint = std::function<std::string(std::string_view padded)>;
  struct Cell {
    std::string text;
    bool right = false;  // numbers
    Paint paint = nullptr;
  };

  explicit Table(std::vector<Cell> heading) { rows_.push_back(std::move(heading)); }
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  // All rows, each with `indent` leading spaces, no trailing spaces and a newline. In a row that
  // has more than `columns`, the last cell is shortened_within(), behind its own leading spaces,
  // unless it is on the right; but to 20 columns at least.
  [[nodiscard]] std::string text(size_t indent = 0, size_t columns = SIZE_MAX) const;

 private:
  std::vector<std::vector<Cell>> rows_;
};

// A cell of a table's first row. `colours` must outlive it.
[[nodiscard]] Table::Cell heading(std::string text, bool right, const Colours& colours);
// A table's first row. Names of columns on the right begin with '>', which is not shown.
[[nodiscard]] std::vector<Table::Cell> headings(const std::vector<std::string_view>& names,
                                                const Colours& colours);

// 1234567 → "1,234,567"
[[nodiscard]] std::string grouped(uint64_t number);
// 4194304 → "4 MiB"
[[nodiscard]] std::string bytes_text(uint64_t bytes);
// 1234567 ns → "1.235 ms"
[[nodiscard]] std::string duration_text(uint64_t ns);

}  // namespace ktraced
