// SPDX-License-Identifier: BSD-2-Clause
// All tables of a query.
#include <algorithm>
#include <iterator>
#include <utility>

#include "ctl/tables/event_tables.h"
#include "ctl/tables/tables.h"

namespace ktraced {

std::vector<std::unique_ptr<QueryTable>> all_tables(const TableInput& input) {
  std::vector<std::unique_ptr<QueryTable>> tables;
  for (const auto make :
       {threads_table, processes_table, calls_table, path_calls_table, runs_table, waits_table,
        allocations_table, cgroup_moves_table, losses_table, config_changes_table})
    tables.push_back(make(input));
  if (auto frames = frames_table(input)) tables.push_back(std::move(frames));
  auto events = event_tables(input);
  std::ranges::move(events, std::back_inserter(tables));
  return tables;
}

}  // namespace ktraced
