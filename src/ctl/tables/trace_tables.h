// SPDX-License-Identifier: BSD-2-Clause
// The tables of threads, processes, losses and config changes.
#pragma once

#include <memory>

#include "ctl/query/query_table.h"
#include "trace/merge/history.h"

namespace ktraced {

// `history` must outlive them.
[[nodiscard]] std::unique_ptr<QueryTable> threads_table(const History& history);
[[nodiscard]] std::unique_ptr<QueryTable> processes_table(const History& history);
[[nodiscard]] std::unique_ptr<QueryTable> losses_table(const History& history);
[[nodiscard]] std::unique_ptr<QueryTable> config_changes_table(const History& history);

}  // namespace ktraced
