// SPDX-License-Identifier: BSD-2-Clause
// The list of snapshots as text.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ctl/terminal/terminal.h"

namespace ktraced {

struct SnapshotListOptions {
  bool per_cpu = false;  // also a table of each snapshot's CPUs; times as in events
  bool verbose = false;  // also what does not fit into the table: full names, reasons, counts
};

// The answer to snapshot.list as a table of at most 120 columns, followed by the reasons why
// snapshots cannot be read.
[[nodiscard]] std::string snapshot_list_view(const nlohmann::json& answer,
                                             const SnapshotListOptions& options,
                                             const Colours& colours);

}  // namespace ktraced
