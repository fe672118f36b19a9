// SPDX-License-Identifier: BSD-2-Clause
// All tables of a query.
#pragma once

#include <memory>
#include <vector>

#include "ctl/query/query_table.h"
#include "ctl/tables/table_input.h"

namespace ktraced {

// The tables over traces, which are not read before a query does. What `input` refers to must
// outlive them.
[[nodiscard]] std::vector<std::unique_ptr<QueryTable>> all_tables(const TableInput& input);

}  // namespace ktraced
