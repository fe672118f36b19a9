// SPDX-License-Identifier: BSD-2-Clause
// Explains why SQLite refuses a statement.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <span>
#include <string_view>

#include "base/error.h"
#include "ctl/query/query_table.h"

namespace ktraced {

// One sentence about the last error of `db`: what is wrong, where in `sql`, and which table or
// column may be meant. `at` is where the failed statement begins in `sql`.
[[nodiscard]] Error sql_error(sqlite3* db, std::string_view sql, size_t at,
                              std::span<const std::unique_ptr<QueryTable>> tables);

}  // namespace ktraced
