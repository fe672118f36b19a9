// SPDX-License-Identifier: BSD-2-Clause
// The tables of what lasts: system calls, runs on a CPU, waits for a CPU, allocations.
#pragma once

#include <memory>

#include "ctl/query/query_table.h"
#include "trace/merge/history.h"

namespace ktraced {

// `history` must outlive them. Their intervals are those of the reports: see analysis/intervals.
[[nodiscard]] std::unique_ptr<QueryTable> calls_table(const History& history);
[[nodiscard]] std::unique_ptr<QueryTable> runs_table(const History& history);
[[nodiscard]] std::unique_ptr<QueryTable> waits_table(const History& history);
[[nodiscard]] std::unique_ptr<QueryTable> allocations_table(const History& history);

}  // namespace ktraced
