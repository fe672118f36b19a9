// SPDX-License-Identifier: BSD-2-Clause
// Which conditions of a query a scan of a table uses.
#pragma once

#include <sqlite3.h>

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ctl/query/grouped_scan.h"
#include "ctl/query/query_table.h"

namespace ktraced {

// Chooses the conditions for one scan: the implementation of sqlite3_module.xBestIndex.
int plan_scan(const QueryTable& table, sqlite3_index_info& info);

// The limits by the values of the conditions that plan_scan() has chosen. `plan` is its idxStr.
[[nodiscard]] ScanLimits limits_of(std::string_view plan, std::span<sqlite3_value* const> values);

// The order of a plan whose rows are to be grouped; nothing if they come as the table has them.
[[nodiscard]] std::optional<Grouping> grouping_of(std::string_view plan);

// The columns that are used by a plan whose rows are to be reversed; empty if they are not.
[[nodiscard]] std::vector<size_t> reversed_columns_of(std::string_view plan);

}  // namespace ktraced
