// SPDX-License-Identifier: BSD-2-Clause
// Makes a QueryTable a table of SQLite.
#pragma once

#include <sqlite3.h>

#include <atomic>
#include <vector>

#include "ctl/query/query_table.h"

namespace ktraced {

// Adds a read-only table, which needs no CREATE VIRTUAL TABLE. `table` and `stop` must outlive the
// connection; when `stop` is true, scans fail with SQLITE_INTERRUPT. `scanned` must outlive it too,
// and gets the table, once, when it is scanned. Grouping uses up to `memory` bytes in addition to
// SQLite's. Returns an error code of SQLite.
int add_virtual_table(sqlite3* db, QueryTable& table, const std::atomic<bool>& stop,
                      std::vector<QueryTable*>& scanned, uint64_t memory);

// The definition of a table in SQL.
[[nodiscard]] std::string definition_of(const QueryTable& table);

}  // namespace ktraced
