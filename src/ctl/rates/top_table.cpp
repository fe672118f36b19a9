// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/rates/top_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text/plain_text.h"
#include "ctl/terminal/table.h"

namespace ktraced {
namespace {

bool contains_text(const TopTable& table, const TopRow& row, std::string_view filter) {
  for (size_t i = 0; i < row.size(); ++i)
    if (table.columns[i].is_text && row[i].text.contains(filter)) return true;
  return false;
}

// Does `a` come before `b` by this column? Texts rise, numbers fall.
int compare(const TopCell& a, const TopCell& b, bool is_text) {
  if (is_text) return a.text.compare(b.text);
  if (a.number == b.number) return 0;
  return a.number > b.number ? -1 : 1;
}

}  // namespace

TopCell text_cell(std::string_view text) { return {.text = printable(text)}; }

TopCell unknown_cell() { return {.text = "-", .number = -std::numeric_limits<double>::infinity()}; }

std::string rate_text(double per_second) {
  if (per_second <= 0 || !std::isfinite(per_second)) return "0";
  if (per_second < 9.95) return fmt::format("{:.1f}", per_second);
  return grouped(static_cast<uint64_t>(std::llround(std::min(per_second, 1e18))));
}

TopCell rate_cell(double per_second) {
  return {.text = rate_text(per_second), .number = per_second};
}

TopCell loss_cell(double per_second) {
  TopCell cell = rate_cell(per_second);
  cell.alarm = per_second > 0;
  return cell;
}

TopTable arranged(TopTable table, const TopSorting& sorting, std::string_view filter) {
  if (!filter.empty())
    std::erase_if(table.rows,
                  [&](const TopRow& row) { return !contains_text(table, row, filter); });
  if (table.columns.empty()) return table;
  const size_t column = std::min(sorting.column, table.columns.size() - 1);
  const bool is_text = table.columns[column].is_text;
  std::ranges::stable_sort(table.rows, [&](const TopRow& a, const TopRow& b) {
    const int order = compare(a[column], b[column], is_text);
    if (order != 0) return sorting.reversed ? order > 0 : order < 0;
    return a[0].text < b[0].text;
  });
  return table;
}

}  // namespace ktraced
