// SPDX-License-Identifier: BSD-2-Clause
// Lets queries read, and nothing else.
#pragma once

#include <sqlite3.h>

#include <string>
#include <string_view>

namespace ktraced {

// Refuses whatever writes, attaches files, loads code or changes settings.
class Authorizer {
 public:
  Authorizer() = default;
  Authorizer(const Authorizer&) = delete;
  Authorizer& operator=(const Authorizer&) = delete;

  // Must outlive the connection.
  void watch(sqlite3* db);
  // Why something was refused since the last clear(): "ATTACH is not allowed, queries can only
  // read"; empty: nothing was.
  [[nodiscard]] const std::string& refused() const { return refused_; }
  void clear() { refused_.clear(); }

 private:
  static int decide(void* self, int action, const char* first, const char* second,
                    const char* database, const char* trigger);

  std::string refused_;
};

// "INSERT is not allowed, queries can only read".
[[nodiscard]] std::string only_reading(std::string_view what);

// The keyword of a statement about which SQLite does not ask, or only for a part of what it does:
// "REINDEX", "VACUUM", "ANALYZE". Empty for other statements.
[[nodiscard]] std::string maintenance_keyword(std::string_view statement);

}  // namespace ktraced
