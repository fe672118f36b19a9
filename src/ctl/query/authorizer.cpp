// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/query/authorizer.h"

#include <algorithm>
#include <string_view>

#include "base/text/c_text.h"

namespace ktraced {
namespace {

// They describe tables and functions.
constexpr std::string_view kReadingPragmas[] = {"compile_options", "function_list", "table_info",
                                                "table_list", "table_xinfo"};

std::string_view text_of(const char* text) { return text != nullptr ? text : ""; }

std::string name_of(int action, std::string_view what) {
  switch (action) {
    case SQLITE_INSERT:
      return "INSERT";
    case SQLITE_UPDATE:
      return "UPDATE";
    case SQLITE_DELETE:
      return "DELETE";
    case SQLITE_PRAGMA:
      return "PRAGMA " + std::string(what);
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

void Authorizer::watch(sqlite3* db) { sqlite3_set_authorizer(db, decide, this); }

int Authorizer::decide(void* self, int action, const char* first, const char* second,
                       const char* /*database*/, const char* /*trigger*/) {
  const std::string_view pragma = text_of(first), function = text_of(second);
  bool allowed = action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_RECURSIVE;
  if (action == SQLITE_FUNCTION) allowed = function != "load_extension";
  if (action == SQLITE_PRAGMA)
    allowed = std::ranges::find(kReadingPragmas, pragma) != std::ranges::end(kReadingPragmas);
  if (allowed) return SQLITE_OK;
  auto& refused = static_cast<Authorizer*>(self)->refused_;
  // Statements that define something begin with a write to the table of definitions.
  const bool defines = pragma.starts_with("sqlite_") && action != SQLITE_PRAGMA;
  if (refused.empty())
    refused =
        defines ? "CREATE or DROP" : name_of(action, action == SQLITE_FUNCTION ? function : pragma);
  return SQLITE_DENY;
}

}  // namespace ktraced
