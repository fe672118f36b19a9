// SPDX-License-Identifier: BSD-2-Clause
// The tables of events.
#pragma once

#include <memory>
#include <vector>

#include "ctl/query/query_table.h"
#include "ctl/tables/table_input.h"

namespace ktraced {

// A table for each event that any of the traces defines, and one of all events, "events". `history`
// must outlive them; each scan reads its traces from their beginning.
[[nodiscard]] std::vector<std::unique_ptr<QueryTable>> event_tables(const TableInput& input);

// Conditions on the wall-clock time as such on the time since boot. The clocks of the traces may
// differ, so the limits may be wider.
[[nodiscard]] ScanLimits with_wall(ScanLimits limits, const History& history);

// The records of all traces, by their manifests; of one event if `name` is not empty.
[[nodiscard]] uint64_t records_in(const History& history, std::string_view name = {});

}  // namespace ktraced
