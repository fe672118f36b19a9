// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/query/authorizer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "base/text/c_text.h"
#include "base/text/plain_text.h"

namespace ktraced {
namespace {

std::string_view text_of(const char* text) { return text != nullptr ? text : ""; }

std::string name_of(int action, std::string_view what) {
  switch (action) {
    case SQLITE_INSERT:
      return "INSERT";
    case SQLITE_UPDATE:
      return "UPDATE";
    case SQLITE_DELETE:
      return "DELETE";
    case SQLITE_ATTACH:
      return "ATTACH";
    case SQLITE_DETACH:
      return "DETACH";
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
      return "a transaction";
    case SQLITE_FUNCTION:
      return "the function " + std::string(what) + "()";
    case SQLITE_DROP_TABLE:
    case SQLITE_DROP_TEMP_TABLE:
    case SQLITE_DROP_VIEW:
    case SQLITE_DROP_VTABLE:
      return "DROP";
    default:
      return "a statement that changes the database";
  }
}

// The PRAGMAs that only describe what there is.
constexpr std::string_view kReadingPragmas[] = {
    "collation_list", "compile_options", "database_list", "foreign_key_list",
    "function_list",  "index_info",      "index_list",    "index_xinfo",
    "module_list",    "table_info",      "table_list",    "table_xinfo"};

// SQLite takes their names in any case.
bool is_reading_pragma(std::string_view name) {
  return std::ranges::any_of(kReadingPragmas, [name](std::string_view known) {
    return std::ranges::equal(known, name, {}, upper_char, upper_char);
  });
}

// Without the white space and the comments before the first word.
std::string_view skip_comments(std::string_view sql) {
  for (;;) {
    sql.remove_prefix(std::min(sql.find_first_not_of(" \t\r\n\f;"), sql.size()));
    const bool is_line = sql.starts_with("--");
    if (!is_line && !sql.starts_with("/*")) return sql;
    const size_t end = is_line ? sql.find('\n') : sql.find("*/", 2);
    if (end == std::string_view::npos) return {};
    sql.remove_prefix(end + (is_line ? 1 : 2));
  }
}

}  // namespace

std::string maintenance_keyword(std::string_view statement) {
  std::string word;
  for (const char c : skip_comments(statement)) {
    if (!is_letter_char(c)) break;
    word += upper_char(c);
  }
  return word == "REINDEX" || word == "VACUUM" || word == "ANALYZE" ? word : std::string();
}

std::string only_reading(std::string_view what) {
  return fmt::format("{} is not allowed, queries can only read", what);
}

void Authorizer::watch(sqlite3* db) { sqlite3_set_authorizer(db, decide, this); }

int Authorizer::decide(void* self, int action, const char* what, const char* more,
                       const char* /*database*/, const char* /*trigger*/) {
  const std::string_view first = text_of(what), second = text_of(more);
  bool allowed = action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE;
  if (action == SQLITE_FUNCTION) allowed = second != "load_extension";
  if (action == SQLITE_PRAGMA) allowed = is_reading_pragma(first);
  if (allowed) return SQLITE_OK;
  auto& refused = static_cast<Authorizer*>(self)->refused_;
  if (!refused.empty()) return SQLITE_DENY;
  if (action == SQLITE_PRAGMA)
    refused = fmt::format("PRAGMA {} is not available; there are {}", printable(first),
                          fmt::join(kReadingPragmas, ", "));
  else if (first.starts_with("sqlite_"))  // a definition begins with a write to their table
    refused = only_reading("CREATE or DROP");
  else
    refused = only_reading(name_of(action, action == SQLITE_FUNCTION ? second : first));
  return SQLITE_DENY;
}

}  // namespace ktraced
