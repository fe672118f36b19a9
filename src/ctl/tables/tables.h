// SPDX-License-Identifier: BSD-2-Clause
// The tables over traces, which are not read before a query does. What `input` refers to must
// outlive them.
#pragma once

#include <memory>
#include <vector>

#include "ctl/query/query_table.h"
#include "ctl/tables/table_input.h"

namespace ktraced {

// All tables: those below, and those of the events.
[[nodiscard]] std::vector<std::unique_ptr<QueryTable>> all_tables(const TableInput& input);

// Tables of what lasts: system calls, their paths, runs on a CPU, waits for a CPU, allocations. The
// intervals are those of the reports: see analysis/intervals.
[[nodiscard]] std::unique_ptr<QueryTable> calls_table(const TableInput& input);
[[nodiscard]] std::unique_ptr<QueryTable> path_calls_table(const TableInput& input);
[[nodiscard]] std::unique_ptr<QueryTable> runs_table(const TableInput& input);
[[nodiscard]] std::unique_ptr<QueryTable> waits_table(const TableInput& input);
[[nodiscard]] std::unique_ptr<QueryTable> allocations_table(const TableInput& input);

// The frames of stacks; null if the traces have none.
[[nodiscard]] std::unique_ptr<QueryTable> frames_table(const TableInput& input);

// Tables of threads, processes, their moves between control groups, losses and config changes.
[[nodiscard]] std::unique_ptr<QueryTable> threads_table(const TableInput& input);
[[nodiscard]] std::unique_ptr<QueryTable> processes_table(const TableInput& input);
[[nodiscard]] std::unique_ptr<QueryTable> cgroup_moves_table(const TableInput& input);
[[nodiscard]] std::unique_ptr<QueryTable> losses_table(const TableInput& input);
[[nodiscard]] std::unique_ptr<QueryTable> config_changes_table(const TableInput& input);

}  // namespace ktraced
