// SPDX-License-Identifier: BSD-2-Clause
// Tables of the daemon's counters and rings.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/terminal/table.h"
#include "ctl/terminal/terminal.h"

namespace ktraced {

// True if an event is on or has counted anything.
[[nodiscard]] bool is_interesting(const nlohmann::json& event);

// A counter as a cell; losses are red.
[[nodiscard]] Table::Cell counter_cell(const nlohmann::json& counts, const char* counter,
                                       const Colours& colours);

// A line for each interesting one of `events`, and one of their sums.
[[nodiscard]] std::string event_table(const nlohmann::json& events, const nlohmann::json& totals,
                                      const Colours& colours);

// A line for each stream ring of `sessions`; empty if they have none.
[[nodiscard]] std::string ring_table(const nlohmann::json& sessions, const Colours& colours);

}  // namespace ktraced
