// SPDX-License-Identifier: BSD-2-Clause
// What reports and queries know of a process.
#pragma once

#include <fmt/format.h>

#include <string>

#include "harness/client/daemon.h"

namespace ktraced::live {

// Its row of `report processes`; null: there is none.
inline json process_row(const Daemon& daemon, const std::string& trace, pid_t pid) {
  const json report =
      json::parse(daemon.ctl_ok({"--json", "report", "processes", trace, "--top", "all"}));
  for (const json& row : report["processes"]["rows"])
    if (row["pid"] == pid) return row;
  return {};
}

// A column of its row in the table `processes` of a query.
inline json process_column(const Daemon& daemon, const std::string& trace, pid_t pid,
                           const std::string& column) {
  const std::string sql = fmt::format("SELECT {} FROM processes WHERE pid = {}", column, pid);
  return json::parse(daemon.ctl_ok({"--json", "query", trace, sql}))[column];
}

}  // namespace ktraced::live
