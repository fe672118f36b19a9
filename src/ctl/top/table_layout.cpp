// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/top/layout.h"

#include <algorithm>
#include <span>

#include "ctl/terminal/table.h"

namespace ktraced {
namespace {

constexpr size_t kGap = 2;                     // between two columns
constexpr size_t kNameMin = 8, kNameMax = 60;  // columns of the first column
constexpr size_t kTextMax = 24;                // of other texts

// The width of a column that shows its title, with a mark, and its cells in full.
size_t full_width(const TopTable& table, size_t column) {
  size_t width = text_columns(table.columns[column].title) + 1;
  for (const TopRow& row : table.rows) width = std::max(width, text_columns(row[column].text));
  return width;
}

// The width that a column wants beside others.
size_t usual_width(const TopTable& table, size_t column) {
  const size_t width = full_width(table, column);
  const size_t most = column == 0 ? kNameMax : table.columns[column].is_text ? kTextMax : width;
  return std::min(width, most);
}

// The widths of the columns that fit into `columns`. The first one gives way before others are left
// out. A text in the last one takes the room that is left.
std::vector<size_t> widths_of(const TopTable& table, size_t columns) {
  std::vector<size_t> widths;
  size_t others = 0;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    widths.push_back(usual_width(table, i));
    if (i != 0) others += kGap + widths.back();
  }
  const size_t least = widths.empty() ? 0 : std::min(widths[0], kNameMin);
  while (widths.size() > 1 && others + least > columns) {
    others -= kGap + widths.back();
    widths.pop_back();
  }
  if (widths.empty()) return widths;
  widths[0] = std::min(widths[0], columns - std::min(columns, others));
  const size_t last = widths.size() - 1;
  if (last != 0 && table.columns[last].is_text)
    widths[last] = std::min(full_width(table, last), widths[last] + columns - widths[0] - others);
  return widths;
}

std::string heading_of(const TopColumn& column, const TopSorting& sorting, bool sorted) {
  if (!sorted) return column.title;
  const bool rises = column.is_text != sorting.reversed;
  return column.title + (rises ? "^" : "v");
}

TopLine heading_line(const TopTable& table, const TopSorting& sorting,
                     std::span<const size_t> widths, size_t columns) {
  TopLine line;
  size_t used = 0;
  for (size_t i = 0; i < widths.size(); ++i) {
    const bool sorted = i == std::min(sorting.column, table.columns.size() - 1);
    const std::string title = heading_of(table.columns[i], sorting, sorted);
    if (i != 0) line.push_back({std::string(kGap, ' '), TopStyle::reverse});
    line.push_back({filled_to(title, widths[i], !table.columns[i].is_text),
                    sorted ? TopStyle::reverse_bold : TopStyle::reverse});
    used += widths[i] + (i != 0 ? kGap : 0);
  }
  line.push_back({std::string(columns - std::min(columns, used), ' '), TopStyle::reverse});
  return line;
}

TopLine row_line(const TopTable& table, const TopRow& row, std::span<const size_t> widths) {
  TopLine line;
  for (size_t i = 0; i < widths.size(); ++i) {
    const std::string gap(i != 0 ? kGap : 0, ' ');
    line.push_back({gap + filled_to(row[i].text, widths[i], !table.columns[i].is_text),
                    row[i].alarm ? TopStyle::red : TopStyle::plain});
  }
  return line;
}

}  // namespace

std::vector<TopLine> table_lines(const TopTable& table, const TopSorting& sorting, size_t first,
                                 size_t count, size_t columns) {
  const std::vector<size_t> widths = widths_of(table, columns);
  std::vector<TopLine> lines{heading_line(table, sorting, widths, columns)};
  const size_t end =
      first + std::min(count, table.rows.size() - std::min(table.rows.size(), first));
  for (size_t i = first; i < end; ++i) lines.push_back(row_line(table, table.rows[i], widths));
  return lines;
}

}  // namespace ktraced
