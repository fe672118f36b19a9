// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/query/database.h"

#include <string>
#include <utility>

#include "base/text/plain_text.h"
#include "ctl/query/sql_error.h"
#include "ctl/query/virtual_table.h"

namespace ktraced {
namespace {

// A built-in table defines itself when it is first used, which the authorizer would refuse.
void connect_built_in_table(sqlite3* db, const std::string& table) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(db, fmt::format("SELECT 1 FROM {}", table).c_str(), -1, &statement, nullptr);
  sqlite3_finalize(statement);
}

// Connects the tables of PRAGMAs too, also of refused ones, so that what is refused is the PRAGMA.
void connect_built_in_tables(sqlite3* db) {
  for (const char* table : {"json_each", "json_tree"}) connect_built_in_table(db, table);
  sqlite3_stmt* pragmas = nullptr;
  sqlite3_prepare_v2(db, "SELECT 'pragma_' || name FROM pragma_pragma_list", -1, &pragmas, nullptr);
  while (sqlite3_step(pragmas) == SQLITE_ROW)
    connect_built_in_table(db, reinterpret_cast<const char*>(sqlite3_column_text(pragmas, 0)));
  sqlite3_finalize(pragmas);
}

Error refusal(std::string_view why) {
  return {ExitCode::usage, fmt::format("the query is refused: {}", why)};
}

// The first parameter of a statement, as ":name"; of those without a name "?".
std::string parameter_of(sqlite3_stmt* statement) {
  const char* name = sqlite3_bind_parameter_name(statement, 1);
  return name != nullptr ? printable(name) : "?";
}

}  // namespace

ResultRow::Type ResultRow::type(size_t column) const {
  switch (sqlite3_column_type(statement_, static_cast<int>(column))) {
    case SQLITE_INTEGER:
      return Type::integer;
    case SQLITE_FLOAT:
      return Type::real;
    case SQLITE_TEXT:
      return Type::text;
    case SQLITE_BLOB:
      return Type::bytes;
    default:
      return Type::null;
  }
}

std::string_view ResultRow::text(size_t column) const {
  const auto number = static_cast<int>(column);
  const auto* text = sqlite3_column_type(statement_, number) == SQLITE_BLOB
                         ? static_cast<const char*>(sqlite3_column_blob(statement_, number))
                         : reinterpret_cast<const char*>(sqlite3_column_text(statement_, number));
  if (text == nullptr) return {};
  return {text, static_cast<size_t>(sqlite3_column_bytes(statement_, number))};
}

Result<std::unique_ptr<Database>> Database::open(uint64_t memory) {
  sqlite3* db = nullptr;
  constexpr int kFlags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_MEMORY;
  const int code = sqlite3_open_v2(":memory:", &db, kFlags, nullptr);
  std::unique_ptr<Database> database(new Database(db, memory));
  if (code != SQLITE_OK) return fail(ExitCode::os, "cannot start SQLite: {}", sqlite3_errstr(code));
  if (auto limited = database->limit(); !limited) return propagate(limited);
  return database;
}

Result<> Database::limit() {
  sqlite3_hard_heap_limit64(static_cast<sqlite3_int64>(memory_));
  sqlite3_limit(db_, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(db_, SQLITE_LIMIT_LENGTH, kMaxValue);
  sqlite3_limit(db_, SQLITE_LIMIT_WORKER_THREADS, 0);
  const int code = sqlite3_exec(db_, "PRAGMA temp_store=MEMORY", nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return fail(ExitCode::os, "cannot start SQLite: {}", sqlite3_errstr(code));
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  // "x" is a name, and never a text because no column has this name.
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  connect_built_in_tables(db_);
  authorizer_.watch(db_);
  return {};
}

Database::~Database() { sqlite3_close(db_); }

Result<> Database::add(std::unique_ptr<QueryTable> table) {
  sqlite3_set_authorizer(db_, nullptr, nullptr);
  const int code = add_virtual_table(db_, *table, stop_, scanned_, memory_);
  authorizer_.watch(db_);
  tables_.push_back(std::move(table));
  if (code == SQLITE_OK) return {};
  return fail(ExitCode::os, "cannot add the table {}: {}", tables_.back()->name(),
              sqlite3_errstr(code));
}

void Database::interrupt() {
  stop_ = true;
  sqlite3_interrupt(db_);
}

Error Database::error_of(int code, std::string_view sql, size_t at) const {
  // UPDATE and DELETE, before the authorizer is asked.
  if (std::string_view(sqlite3_errmsg(db_)).ends_with(" may not be modified")) code = SQLITE_AUTH;
  switch (code & 0xff) {
    case SQLITE_NOMEM:
      return {ExitCode::os,
              fmt::format("the query needs more than {} MiB of memory: --memory-mb sets the limit",
                          memory_ >> 20)};
    case SQLITE_INTERRUPT:
      return {ExitCode::io, "the query was cancelled"};
    case SQLITE_AUTH:
    case SQLITE_READONLY:
      return refusal(authorizer_.refused().empty() ? only_reading("writing")
                                                   : authorizer_.refused());
    default:
      return sql_error(db_, sql, at, tables_);
  }
}

Result<Database::Statement> Database::prepare(std::string_view sql, size_t& at) {
  authorizer_.clear();
  const std::string_view rest = sql.substr(at);
  if (const std::string keyword = maintenance_keyword(rest); !keyword.empty())
    return std::unexpected(refusal(only_reading(keyword)));
  sqlite3_stmt* prepared = nullptr;
  const char* tail = nullptr;
  const int code =
      sqlite3_prepare_v2(db_, rest.data(), static_cast<int>(rest.size()), &prepared, &tail);
  Statement statement(prepared);
  if (code != SQLITE_OK)
    return std::unexpected(error_of(authorizer_.refused().empty() ? code : SQLITE_AUTH, sql, at));
  if (prepared != nullptr && sqlite3_stmt_readonly(prepared) == 0)
    return std::unexpected(error_of(SQLITE_READONLY, sql, at));
  if (prepared != nullptr && sqlite3_bind_parameter_count(prepared) != 0)
    return fail(ExitCode::usage,
                "SQL error: {} is a parameter, which has no value here: write the "
                "value",
                parameter_of(prepared));
  at += static_cast<size_t>(tail - rest.data());
  return statement;
}

Result<> Database::run(std::string_view sql, ResultSink& out) {
  if (sql.size() > kMaxSql)
    return fail(ExitCode::usage, "the SQL has {} bytes; at most {} are allowed", sql.size(),
                kMaxSql);
  if (const size_t nul = sql.find('\0'); nul != std::string_view::npos)
    return fail(ExitCode::usage, "the SQL has a NUL character at byte {}", nul);
  for (size_t at = 0; at < sql.size();) {
    const size_t begin = at;
    auto statement = prepare(sql, at);
    if (!statement) return propagate(statement);
    if (*statement == nullptr) continue;  // only a comment or white space
    auto done = run(statement->get(), out);
    if (done) continue;
    if (done.error().code != ExitCode::software) return done;
    return std::unexpected(error_of(sqlite3_extended_errcode(db_), sql, begin));
  }
  return {};
}

// Fails with ExitCode::software for an error of SQLite.
Result<> Database::run(sqlite3_stmt* statement, ResultSink& out) {
  const int count = sqlite3_column_count(statement);
  std::vector<std::string> columns;
  for (int i = 0; i < count; ++i) {
    const char* name = sqlite3_column_name(statement, i);
    columns.emplace_back(name != nullptr ? name : "");
  }
  out.begin(columns);
  int code = sqlite3_step(statement);
  for (; code == SQLITE_ROW; code = sqlite3_step(statement)) {
    auto more = out.row(ResultRow(statement));
    if (!more) return propagate(more);
    if (!*more) return out.end();
  }
  if (code == SQLITE_DONE) return out.end();
  out.fail();
  return fail(ExitCode::software, "{}", sqlite3_errstr(code));
}

}  // namespace ktraced
