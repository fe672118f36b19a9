// SPDX-License-Identifier: BSD-2-Clause
// The tables of reports as text and as CSV, and building blocks for the text around them.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/text/json_access.h"
#include "ctl/terminal/table.h"
#include "decoders/text/safe_text.h"

namespace ktraced {

[[nodiscard]] inline double in_seconds(uint64_t ns) { return static_cast<double>(ns) / 1e9; }

// "4.940 s on the CPU that reaches furthest back".
[[nodiscard]] inline std::string furthest_text(uint64_t furthest_ns, uint64_t end_ns) {
  return fmt::format("{:.3f} s on the CPU that reaches furthest back",
                     in_seconds(end_ns - furthest_ns));
}

// "complete", or "incomplete: …" with the reasons of a trace, which are not printable() yet.
[[nodiscard]] inline std::string completeness_text(bool complete,
                                                   const std::vector<std::string>& reasons) {
  if (complete) return "complete";
  return reasons.empty() ? "incomplete" : fmt::format("incomplete: {}", fmt::join(reasons, "; "));
}

// "12.3 %"; "-" of nothing.
[[nodiscard]] inline std::string share_text(uint64_t part, uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// How a text shows a value. Only texts are on the left.
enum class CellKind : uint8_t { text, number, count, loss, bytes, duration, latency, time };
// What a text shows of a row, and of the report that it is from.
using CellText = std::string (*)(const nlohmann::json& row, const nlohmann::json& report);

// A column of a table whose rows are objects of JSON.
struct TableColumn {
  // The member of a row, and its name in CSV: "delay.p50_ns" of a member. Empty: not in CSV.
  std::string_view key;
  const char* title = nullptr;  // in texts; null: not there
  CellKind kind = CellKind::text;
  CellText cell = nullptr;  // instead of what a text shows of the member
  bool in_csv = true;
};

// The columns by their kinds. CSV has the value of JSON: numbers without units, nothing for null.
namespace columns {

using Key = std::string_view;
using Title = const char*;

constexpr TableColumn text(Key key, Title title, CellText cell = nullptr) {
  return {key, title, CellKind::text, cell};
}
// As it is: of a CPU, of a process.
constexpr TableColumn number(Key key, Title title, CellText cell = nullptr) {
  return {key, title, CellKind::number, cell};
}
// A time since boot, in seconds, before a column with the same by the wall clock.
constexpr TableColumn time(Key key, Title title, CellText cell = nullptr) {
  return {key, title, CellKind::time, cell};
}
// "1,234"
constexpr TableColumn count(Key key, Title title) { return {key, title, CellKind::count}; }
// A count, in red if there are any.
constexpr TableColumn loss(Key key, Title title) { return {key, title, CellKind::loss}; }
// "4 MiB"
constexpr TableColumn bytes(Key key, Title title) { return {key, title, CellKind::bytes}; }
// "1.235 ms"; "-" for null.
constexpr TableColumn duration(Key key, Title title) { return {key, title, CellKind::duration}; }
// A duration of latency_json(); "-" if that has no values.
constexpr TableColumn latency(Key key, Title title) { return {key, title, CellKind::latency}; }

// A column that CSV has elsewhere.
constexpr TableColumn not_in_csv(TableColumn column) {
  column.in_csv = false;
  return column;
}

}  // namespace columns

using TableColumns = std::vector<TableColumn>;
// Columns one behind the other: of each part, a column, several, or the key of one that only CSV
// has.
template <class... Parts>
[[nodiscard]] TableColumns make_columns(const Parts&... parts) {
  TableColumns all;
  const auto add = [&all](const auto& part) {
    using Part = std::remove_cvref_t<decltype(part)>;
    if constexpr (std::is_same_v<Part, TableColumns>)
      all.insert(all.end(), part.begin(), part.end());
    else if constexpr (std::is_same_v<Part, TableColumn>)
      all.push_back(part);
    else
      all.push_back({.key = part});
  };
  (add(parts), ...);
  return all;
}

// A table of a report.
struct ReportTable {
  std::string_view name;  // the report's member: a list, {"rows":[…],"of":N}, or rows by name
  TableColumns columns;
  bool even_if_empty = false;  // texts have its headings if there are no rows
};

// The headings, and a line for each of `rows`, which are a list in `report`. `width`: see
// Table::text().
[[nodiscard]] std::string table_text(std::span<const TableColumn> columns,
                                     const nlohmann::json& rows, const nlohmann::json& report,
                                     const Colours& colours, size_t width = SIZE_MAX);
// A table of lists, with the number of rows omitted, and an empty line.
[[nodiscard]] std::string section_text(const ReportTable& table, const nlohmann::json& report,
                                       const Colours& colours, size_t width = SIZE_MAX);
// A line with the names of the columns, and a line for each row. Values are those of the JSON:
// numbers without units, nothing for null. Control characters are shown as \xNN.
[[nodiscard]] std::string table_csv(const ReportTable& table, const nlohmann::json& report);

// The rows of a table that the report has by their names, which are in its first column. Sorted by
// the number that the report is "by", the largest first, and of equals by their events; by name if
// they have no such number.
[[nodiscard]] nlohmann::json rows_by_name(const ReportTable& table, const nlohmann::json& report);

// "3 calls were lost", "1 call was lost". `text` begins with a regular plural.
[[nodiscard]] inline std::string counted_text(uint64_t count, std::string_view text) {
  if (count != 1) return fmt::format("{} {}", grouped(count), text);
  const size_t end = std::min(text.find(' '), text.size());
  std::string_view rest = text.substr(end), verb;
  for (const auto& [plural, singular] :
       {std::pair<std::string_view, std::string_view>{" were ", " was "},
        {" have ", " has "},
        {" are ", " is "}})
    if (rest.starts_with(plural)) {
      verb = singular;
      rest.remove_prefix(plural.size());
    }
  return fmt::format("1 {}{}{}", text.substr(0, end - 1), verb, rest);
}

// A number of a report, and what it counts, as counted_text() has it.
struct ReportNote {
  const char* key;
  const char* text;
};
// A line for each number that is not zero.
[[nodiscard]] inline std::string notes_text(const nlohmann::json& report,
                                            std::initializer_list<ReportNote> notes) {
  std::string out;
  for (const ReportNote& note : notes)
    if (const uint64_t count = number_at(report, note.key); count != 0)
      out += counted_text(count, note.text) + "\n";
  return out;
}

// A line with the number of rows omitted from {"rows":[…],"of":N}; empty if none.
[[nodiscard]] inline std::string more_rows(const nlohmann::json& table) {
  const uint64_t shown = list_at(table, "rows").size(), of = number_at(table, "of");
  return of > shown ? fmt::format("… {} more\n", grouped(of - shown)) : "";
}

// The caveats of a report, printed at its end.
[[nodiscard]] inline std::string caveats_text(const nlohmann::json& report) {
  std::string out;
  for (const std::string& caveat : texts_at(report, "caveats")) out += printable(caveat) + "\n";
  return out;
}

}  // namespace ktraced
