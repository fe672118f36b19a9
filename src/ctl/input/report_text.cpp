// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/report_text.h"

#include <functional>
#include <ranges>
#include <utility>

#include "base/text/json_dump.h"
#include "ctl/input/report_clock.h"

namespace ktraced {
namespace {

using nlohmann::json;

// The member "delay.p50_ns" of a row.
const json& value_at(const json& row, std::string_view path) {
  const json* value = &row;
  for (const auto part : std::views::split(path, '.'))
    value = &member(*value, std::string_view(part.begin(), part.end()));
  return *value;
}

uint64_t number_of(const json& value) {
  return value.is_number_integer() ? value.get<uint64_t>() : 0;
}

const json& list_of(const json& rows) { return rows.is_array() ? rows : list_at(rows, "rows"); }

std::string latency_text(const json& row, std::string_view key) {
  const json& distribution = value_at(row, key.substr(0, key.rfind('.')));
  if (number_at(distribution, "count") == 0) return "-";
  return duration_text(number_of(value_at(row, key)));
}

std::string cell_text(const TableColumn& column, const json& row, const json& report) {
  if (column.cell != nullptr) return column.cell(row, report);
  const json& value = value_at(row, column.key);
  switch (column.kind) {
    case CellKind::text:
      return value.is_string() ? printable(value.get_ref<const std::string&>()) : "";
    case CellKind::number:
      return std::to_string(number_of(value));
    case CellKind::count:
    case CellKind::loss:
      return grouped(number_of(value));
    case CellKind::bytes:
      return bytes_text(number_of(value));
    case CellKind::duration:
      return value.is_null() ? "-" : duration_text(number_of(value));
    case CellKind::latency:
      return latency_text(row, column.key);
    case CellKind::time:
      return fmt::format("{:.6f}", in_seconds(number_of(value)));
  }
  return "";
}

void append_csv_value(const json& value, TextBuffer& out) {
  if (value.is_string())
    append_csv_text(printable(value.get_ref<const std::string&>()), out);
  else if (value.is_structured())
    append_csv_text(printable(dump_json(value)), out);
  else if (!value.is_null())
    out.append(dump_json(value));
}

// Do columns of the members of its value follow: "end", "end.ts"?
bool members_follow(const TableColumn& column, std::span<const TableColumn> columns) {
  return std::ranges::any_of(columns, [&column](const TableColumn& other) {
    return other.key.size() > column.key.size() && other.key[column.key.size()] == '.' &&
           other.key.starts_with(column.key);
  });
}

bool is_in_csv(const TableColumn& column) { return !column.key.empty() && column.in_csv; }

void append_csv_row(const json& row, std::span<const TableColumn> columns, TextBuffer& out) {
  bool first = true;
  for (const TableColumn& column : columns) {
    if (!is_in_csv(column)) continue;
    if (!std::exchange(first, false)) out.append(',');
    const json& value = value_at(row, column.key);
    if (!value.is_object() || !members_follow(column, columns)) append_csv_value(value, out);
  }
  out.append('\n');
}

}  // namespace

std::string table_text(std::span<const TableColumn> columns, const json& rows, const json& report,
                       const Colours& colours, size_t width) {
  const ReportClock clock(report);
  std::vector<Table::Cell> head;
  for (const TableColumn& column : columns) {
    if (column.title == nullptr) continue;
    head.push_back(heading(column.title, column.kind != CellKind::text, colours));
    if (column.kind == CellKind::time) clock.add_heading(head, colours);
  }
  Table table(std::move(head));
  for (const json& row : rows) {
    std::vector<Table::Cell> cells;
    for (const TableColumn& column : columns) {
      if (column.title == nullptr) continue;
      const uint64_t number = number_of(value_at(row, column.key));
      Table::Cell& cell =
          cells.emplace_back(cell_text(column, row, report), column.kind != CellKind::text);
      if (column.kind == CellKind::loss && number != 0)
        cell.paint = [&colours](std::string_view text) { return colours.red(text); };
      if (column.kind != CellKind::time) continue;
      if (number != 0)
        clock.add_time(cells, number);
      else
        clock.add_nothing(cells);
    }
    table.add(std::move(cells));
  }
  return table.text(0, width);
}

std::string section_text(const ReportTable& table, const json& report, const Colours& colours,
                         size_t width) {
  const json& rows = value_at(report, table.name);
  if (list_of(rows).empty() && !table.even_if_empty) return "";
  return table_text(table.columns, list_of(rows), report, colours, width) + more_rows(rows) + "\n";
}

std::string table_csv(const ReportTable& table, const json& report) {
  TextBuffer out;
  for (const TableColumn& column : table.columns)
    if (is_in_csv(column)) out.append(fmt::format("{}{}", out.empty() ? "" : ",", column.key));
  out.append('\n');
  const json& rows = value_at(report, table.name);
  const bool named = !rows.is_array() && !rows.contains("rows");
  const json by_name = named ? rows_by_name(table, report) : json();
  for (const json& row : named ? by_name : list_of(rows)) append_csv_row(row, table.columns, out);
  return std::string(out.view());
}

json rows_by_name(const ReportTable& table, const json& report) {
  std::vector<std::pair<std::string, const json*>> sorted;
  for (const auto& [name, row] : member(report, table.name).items())
    sorted.emplace_back(name, &row);
  const std::string by = text_at(report, "by");
  std::ranges::stable_sort(sorted, std::greater<>(), [&by](const auto& named) {
    const json& row = *named.second;
    return row.contains(by) ? std::pair(number_at(row, by), number_at(row, "events"))
                            : std::pair<uint64_t, uint64_t>();
  });
  json rows = json::array();
  for (const auto& [name, row] : sorted) {
    rows.push_back(*row);
    rows.back()[std::string(table.columns.front().key)] = name;
  }
  return rows;
}

}  // namespace ktraced
