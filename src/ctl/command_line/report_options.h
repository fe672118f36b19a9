// SPDX-License-Identifier: BSD-2-Clause
// Options of all reports.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "ctl/input/options.h"

namespace ktraced {

// Adds --top; `top` has the default.
void add_top(CLI::App* sub, uint64_t& top);
// Adds --csv and --table for a report of the kind that `report` has.
void add_csv(CLI::App* sub, ReportCommand& report);

// Adds --by with the sort keys of its rows, the default first.
void add_by(CLI::App* sub, std::string& by, const std::vector<std::string>& keys);

}  // namespace ktraced
