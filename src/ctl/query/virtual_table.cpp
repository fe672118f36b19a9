// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/query/virtual_table.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "ctl/query/reversed_scan.h"
#include "ctl/query/scan_plan.h"

namespace ktraced {
namespace {

// What the functions of the module get: the parameter of sqlite3_create_module_v2().
struct Source {
  QueryTable& table;
  const std::atomic<bool>& stop;
  std::vector<QueryTable*>& scanned;
  uint64_t memory;
};

// SQLite fills in the base classes.
struct Connected : sqlite3_vtab {
  explicit Connected(const Source& from) : sqlite3_vtab{}, source(from) {}
  const Source& source;
};
struct Cursor : sqlite3_vtab_cursor {
  Cursor() : sqlite3_vtab_cursor{} {}
  std::unique_ptr<RowScan> scan;
  GroupedScan* grouped = nullptr;  // `scan`, if it is one
  bool ended = true;
};

const Source& source_of(const sqlite3_vtab* table) {
  return static_cast<const Connected*>(table)->source;
}
Cursor& cursor_of(sqlite3_vtab_cursor* cursor) { return *static_cast<Cursor*>(cursor); }

std::string identifier(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

int connect_table(sqlite3* db, void* parameter, int /*argc*/, const char* const* /*argv*/,
                  sqlite3_vtab** out, char** /*error*/) {
  const auto& source = *static_cast<const Source*>(parameter);
  if (const int code = sqlite3_declare_vtab(db, definition_of(source.table).c_str());
      code != SQLITE_OK)
    return code;
  *out = std::make_unique<Connected>(source).release();
  return SQLITE_OK;
}

int disconnect_table(sqlite3_vtab* table) {
  const std::unique_ptr<Connected> owner(static_cast<Connected*>(table));
  return SQLITE_OK;
}

int best_index_of(sqlite3_vtab* table, sqlite3_index_info* info) {
  return plan_scan(source_of(table).table, *info);
}

int open_cursor(sqlite3_vtab* table, sqlite3_vtab_cursor** out) {
  if (const std::string why = source_of(table).table.refusal(); !why.empty()) {
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("%s", why.c_str());
    return SQLITE_ERROR;
  }
  *out = std::make_unique<Cursor>().release();
  return SQLITE_OK;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
  const std::unique_ptr<Cursor> owner(&cursor_of(cursor));
  return SQLITE_OK;
}

int next_row(sqlite3_vtab_cursor* base) {
  Cursor& cursor = cursor_of(base);
  cursor.ended = !cursor.scan->next();
  if (!cursor.ended) return SQLITE_OK;
  if (cursor.grouped != nullptr && cursor.grouped->out_of_memory()) return SQLITE_NOMEM;
  return source_of(base->pVtab).stop ? SQLITE_INTERRUPT : SQLITE_OK;
}

int filter_rows(sqlite3_vtab_cursor* base, int /*number*/, const char* plan, int argc,
                sqlite3_value** argv) {
  const Source& source = source_of(base->pVtab);
  const auto limits = limits_of(plan != nullptr ? plan : "", {argv, static_cast<size_t>(argc)});
  if (std::ranges::find(source.scanned, &source.table) == source.scanned.end())
    source.scanned.push_back(&source.table);
  Cursor& cursor = cursor_of(base);
  cursor.grouped = nullptr;
  if (auto used = reversed_columns_of(plan != nullptr ? plan : ""); !used.empty())
    cursor.scan =
        std::make_unique<ReversedScan>(source.table, limits, std::move(used), source.stop);
  else
    cursor.scan = source.table.scan(limits, source.stop);
  if (auto grouping = grouping_of(plan != nullptr ? plan : "")) {
    auto grouped =
        std::make_unique<GroupedScan>(std::move(cursor.scan), std::move(*grouping), source.memory);
    cursor.grouped = grouped.get();
    cursor.scan = std::move(grouped);
  }
  return next_row(base);
}

int is_at_end(sqlite3_vtab_cursor* base) { return cursor_of(base).ended ? 1 : 0; }

int column_of_row(sqlite3_vtab_cursor* base, sqlite3_context* context, int number) {
  const Value value = cursor_of(base).scan->value(static_cast<size_t>(number));
  switch (value.type) {
    case Value::Type::null:
      sqlite3_result_null(context);
      break;
    case Value::Type::integer:
      sqlite3_result_int64(context, value.number);
      break;
    case Value::Type::text:
      sqlite3_result_text64(context, value.text.data(), value.text.size(),
                            value.is_static ? SQLITE_STATIC : SQLITE_TRANSIENT, SQLITE_UTF8);
      break;
  }
  return SQLITE_OK;
}

int rowid_of_row(sqlite3_vtab_cursor* base, sqlite3_int64* out) {
  *out = cursor_of(base).scan->rowid();
  return SQLITE_OK;
}

// Without xCreate the table exists under the name of its module only.
constexpr sqlite3_module kModule = {.iVersion = 1,
                                    .xCreate = nullptr,
                                    .xConnect = connect_table,
                                    .xBestIndex = best_index_of,
                                    .xDisconnect = disconnect_table,
                                    .xDestroy = nullptr,
                                    .xOpen = open_cursor,
                                    .xClose = close_cursor,
                                    .xFilter = filter_rows,
                                    .xNext = next_row,
                                    .xEof = is_at_end,
                                    .xColumn = column_of_row,
                                    .xRowid = rowid_of_row};

}  // namespace

std::string definition_of(const QueryTable& table) {
  std::string out = "CREATE TABLE " + identifier(table.name()) + "(";
  for (const Column& each : table.columns())
    out += (out.ends_with('(') ? "" : ", ") + identifier(each.name) +
           (each.is_text ? " TEXT" : " INTEGER");
  return out + ")";
}

int add_virtual_table(sqlite3* db, QueryTable& table, const std::atomic<bool>& stop,
                      std::vector<QueryTable*>& scanned, uint64_t memory) {
  auto source = std::make_unique<Source>(Source{table, stop, scanned, memory});
  // SQLite deletes it, also when this fails.
  const int code = sqlite3_create_module_v2(
      db, table.name().c_str(), &kModule, source.release(),
      [](void* parameter) { std::unique_ptr<Source>(static_cast<Source*>(parameter)); });
  if (code != SQLITE_OK) return code;
  // Connects it, which defines a table: the authorizer would refuse that later.
  sqlite3_stmt* statement = nullptr;
  const std::string sql = "SELECT 1 FROM " + identifier(table.name());
  const int connected = sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr);
  sqlite3_finalize(statement);
  return connected;
}

}  // namespace ktraced
