// SPDX-License-Identifier: BSD-2-Clause
// The command `report`.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ctl/input/options.h"
#include "ctl/input/report_text.h"
#include "ctl/input/traced_events.h"

namespace ktraced {

struct ReportMaking;

// Has a kind of report trees of stacks?
enum class StacksIn : uint8_t { none, with_option, always };

// A kind of report.
struct ReportKind {
  ReportCommand::Kind kind;
  std::string_view name;    // `report NAME`
  const char* description;  // in the help
  Result<nlohmann::json> (*make)(const ReportMaking& making);
  std::string (*text)(const nlohmann::json& report, const Colours& colours);
  const std::vector<ReportTable>& (*tables)();  // the default of CSV first
  std::vector<std::string> (*sort_keys)();      // of its rows, the default first
  EventNeed needs;
  std::span<const std::string_view> uses;  // empty: all events
  StacksIn stacks = StacksIn::none;
  const char* stacks_of = "";  // what has these stacks: "samples"
};

// All kinds, in the order of the help.
[[nodiscard]] std::span<const ReportKind> report_kinds();
// The names of its tables, the default of CSV first.
[[nodiscard]] std::vector<std::string> table_names(const ReportKind& kind);

// What --by may name: sort keys, and whose stacks are put together.
[[nodiscard]] std::vector<std::string> by_names(const ReportKind& kind);

// Prints a report on the events of trace directories or of a live stream. Trace directories need no
// daemon and no privileges. If something cannot be read, reports on everything else and then fails
// with ExitCode::data.
[[nodiscard]] Result<> run_report(const ReportCommand& command, const Options& options);

}  // namespace ktraced
