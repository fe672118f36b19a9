// SPDX-License-Identifier: BSD-2-Clause
// The tables of threads, processes, their moves between control groups, losses and config changes.
#pragma once

#include <memory>

#include "ctl/query/query_table.h"
#include "ctl/tables/table_input.h"

namespace ktraced {

// What `input` refers to must outlive them.
[[nodiscard]] std::unique_ptr<QueryTable> threads_table(const TableInput& input);
[[nodiscard]] std::unique_ptr<QueryTable> processes_table(const TableInput& input);
[[nodiscard]] std::unique_ptr<QueryTable> cgroup_moves_table(const TableInput& input);
[[nodiscard]] std::unique_ptr<QueryTable> losses_table(const TableInput& input);
[[nodiscard]] std::unique_ptr<QueryTable> config_changes_table(const TableInput& input);

}  // namespace ktraced
