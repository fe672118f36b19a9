// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/query/sql_error.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/text/c_text.h"
#include "base/text/plain_text.h"
#include "base/text/suggest.h"

namespace ktraced {
namespace {

using Tables = std::span<const std::unique_ptr<QueryTable>>;

// " at line 2, column 8"; empty if it is unknown where.
std::string place_of(std::string_view sql, size_t at, int offset) {
  if (offset < 0) return "";
  const std::string_view before = sql.substr(0, at + static_cast<size_t>(offset));
  const auto line = std::ranges::count(before, '\n') + 1;
  const size_t last = before.rfind('\n');
  const size_t column = before.size() - (last == std::string_view::npos ? 0 : last + 1) + 1;
  return fmt::format(" at line {}, column {}", line, column);
}

bool mentions(std::string_view sql, std::string_view word) {
  for (size_t at = sql.find(word); at != std::string_view::npos; at = sql.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_word_char(sql[at - 1])) && (end == sql.size() || !is_word_char(sql[end])))
      return true;
  }
  return false;
}

// The columns of the tables in the statement.
std::vector<std::string_view> columns_in(std::string_view sql, Tables tables) {
  std::vector<std::string_view> names;
  for (const auto& table : tables) {
    if (!mentions(sql, table->name())) continue;
    for (const Column& column : table->columns()) names.push_back(column.name);
  }
  return names;
}

std::string unknown_table(std::string_view name, Tables tables) {
  std::vector<std::string_view> names;
  for (const auto& table : tables) names.push_back(table->name());
  return unknown_name("table", name, names, "'.tables' lists them");
}

std::string unknown_column(std::string_view name, std::string_view sql, Tables tables) {
  // Later versions of SQLite quote the name and add a remedy of their own.
  constexpr std::string_view kRemedy = " - should this be a string literal in single-quotes?";
  if (name.ends_with(kRemedy)) name.remove_suffix(kRemedy.size());
  if (name.size() > 2 && name.starts_with('"') && name.ends_with('"'))
    name = name.substr(1, name.size() - 2);
  if (sql.contains(fmt::format("\"{}\"", name)))
    return fmt::format("there is no column \"{}\": a text is in single quotes, '{}'",
                       printable(name), printable(name));
  const std::string_view typed = name.substr(name.rfind('.') + 1);
  return unknown_name("column", typed, columns_in(sql, tables), "'.schema TABLE' lists them");
}

std::string unknown_function(std::string_view name, sqlite3* db) {
  std::vector<std::string> names;
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(db, "SELECT DISTINCT name FROM pragma_function_list", -1, &statement, nullptr);
  while (sqlite3_step(statement) == SQLITE_ROW)
    names.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(statement, 0)));
  sqlite3_finalize(statement);
  return unknown_name("function", name, names, "SELECT name FROM pragma_function_list lists them");
}

// What SQLite says, with a suggestion.
std::string reason_of(sqlite3* db, std::string_view message, std::string_view sql, Tables tables) {
  constexpr std::string_view kTable = "no such table: ", kColumn = "no such column: ";
  constexpr std::string_view kFunction = "no such function: ";
  constexpr std::string_view kParameter = "near \":";  // GROUP:NAME without quotes
  constexpr std::string_view kModule = "no such module: ", kToken = "unrecognized token: \":\"";
  if (message.starts_with(kTable)) return unknown_table(message.substr(kTable.size()), tables);
  if (message.starts_with(kModule)) return unknown_table(message.substr(kModule.size()), tables);
  if (message.starts_with(kColumn))
    return unknown_column(message.substr(kColumn.size()), sql, tables);
  if (message.starts_with(kFunction)) return unknown_function(message.substr(kFunction.size()), db);
  if (message == kToken || message.starts_with(kParameter))
    return R"(":" needs quotes: "GROUP:NAME" is the table of a tracepoint)";
  return printable(message);
}

}  // namespace

Error sql_error(sqlite3* db, std::string_view sql, size_t at, Tables tables) {
  const std::string message = sqlite3_errmsg(db);
  for (const auto& table : tables)
    if (message == table->refusal()) return {ExitCode::usage, printable(message)};
  const int offset = sqlite3_error_offset(db);
  const std::string reason = reason_of(db, message, sql, tables);
  return {ExitCode::usage, fmt::format("SQL error{}: {}", place_of(sql, at, offset), reason)};
}

}  // namespace ktraced
