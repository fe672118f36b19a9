// SPDX-License-Identifier: BSD-2-Clause
// Wall-clock times in the tables of reports.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ctl/selection/wall_clocks.h"
#include "ctl/terminal/table.h"

namespace ktraced {

// Adds to a table, behind a column of times since boot, a column with the same in wall-clock time.
// Adds nothing if the traces do not have the wall clock.
class ReportClock {
 public:
  // `report` has a window (add_facts()).
  explicit ReportClock(const nlohmann::json& report);

  void add_heading(std::vector<Table::Cell>& head, const Colours& colours) const;
  void add_time(std::vector<Table::Cell>& row, uint64_t boottime_ns) const;
  // An empty cell, in a row without a time.
  void add_nothing(std::vector<Table::Cell>& row) const;

 private:
  // Local time: "14:03:21.500000", with the date if that is not the day on which the window begins;
  // "-" if it is unknown.
  [[nodiscard]] std::string text(uint64_t boottime_ns) const;

  // Is any time known?
  [[nodiscard]] bool knows() const;

  uint64_t begin_ns_;  // of the window
  std::vector<ClockOffset> clocks_;
};

}  // namespace ktraced
