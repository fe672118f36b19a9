// SPDX-License-Identifier: BSD-2-Clause
// The rows of a view, sorted and filtered.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace ktraced {

struct TopColumn {
  std::string title;
  bool is_text = false;  // left-aligned, sorted from A to Z; else a number, the largest first
};

struct TopCell {
  std::string text;    // as shown; may be untrusted until cell_text()
  double number = 0;   // of a number: what it is sorted by
  bool alarm = false;  // shown in red
};

using TopRow = std::vector<TopCell>;  // a cell for each column

// The first column is the name of a row.
struct TopTable {
  std::vector<TopColumn> columns;
  std::vector<TopRow> rows;
  std::string note;  // what its cells lack; empty: nothing
};

struct TopSorting {
  size_t column = 1;
  bool reversed = false;
};

// A text; what could control a terminal is escaped.
[[nodiscard]] TopCell text_cell(std::string_view text);
// "-": a number that is not known. It is sorted as the smallest one, and null in JSON.
[[nodiscard]] TopCell unknown_cell();
// Events per second: "0.5", "12,345".
[[nodiscard]] TopCell rate_cell(double per_second);
// Lost events per second; any are shown in red.
[[nodiscard]] TopCell loss_cell(double per_second);
[[nodiscard]] std::string rate_text(double per_second);

// Keeps the rows with `filter` in one of their texts, in the order that `sorting` names. Equal rows
// are ordered by their names.
[[nodiscard]] TopTable arranged(TopTable table, const TopSorting& sorting, std::string_view filter);

}  // namespace ktraced
