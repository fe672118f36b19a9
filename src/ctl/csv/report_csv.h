// SPDX-License-Identifier: BSD-2-Clause
// Tables of reports as comma-separated values.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/input/options.h"

namespace ktraced {

// A table of a report.
struct CsvTable {
  // The report's member: a list, {"rows":[…]}, or an object of rows by name.
  std::string name;
  std::string columns;  // members of its rows, "delay.p50_ns" for those of a member
};

// The names of a report's tables; the first one is the default.
[[nodiscard]] std::vector<std::string> csv_table_names(ReportCommand::Kind kind);
// The first one if `name` is empty; nothing if there is none of that name.
[[nodiscard]] std::optional<CsvTable> csv_table_named(ReportCommand::Kind kind,
                                                      std::string_view name);
// A line with the names of the columns, and a line for each row. Values are those of the JSON:
// numbers without units, nothing for null. Control characters are shown as \xNN.
[[nodiscard]] std::string report_csv(const nlohmann::json& report, const CsvTable& table);

}  // namespace ktraced
