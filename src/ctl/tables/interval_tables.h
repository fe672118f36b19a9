// SPDX-License-Identifier: BSD-2-Clause
// The tables of what lasts: system calls, runs on a CPU, waits for a CPU, allocations.
#pragma once

#include <memory>

#include "ctl/query/query_table.h"
#include "ctl/tables/table_input.h"

namespace ktraced {

// What `input` refers to must outlive them. Their intervals are those of the reports: see
// analysis/intervals.
[[nodiscard]] std::unique_ptr<QueryTable> calls_table(const TableInput& input);
[[nodiscard]] std::unique_ptr<QueryTable> runs_table(const TableInput& input);
[[nodiscard]] std::unique_ptr<QueryTable> waits_table(const TableInput& input);
[[nodiscard]] std::unique_ptr<QueryTable> allocations_table(const TableInput& input);

}  // namespace ktraced
