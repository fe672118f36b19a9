// SPDX-License-Identifier: BSD-2-Clause
// The daemon's longer answers as text.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "ctl/input/options.h"
#include "ctl/terminal/terminal.h"

namespace ktraced {

// The answer to `status`, with the details that `command` selects.
[[nodiscard]] std::string status_view(const nlohmann::json& status, const StatusCommand& command,
                                      const Colours& colours);
// The answer to `status.overhead`, one line per program.
[[nodiscard]] std::string overhead_view(const nlohmann::json& overhead, const Colours& colours);
// The answer to `events.list`, one line per event. `verbose`: with fields and print format.
[[nodiscard]] std::string events_view(const nlohmann::json& answer, bool verbose,
                                      const Colours& colours);
// The answer to `events.enable` (`enabled`) or `events.disable`; many names are shown as a count.
[[nodiscard]] std::string changed_events_view(const nlohmann::json& answer, bool enabled);

// The answer to `session.list`, one line per session.
[[nodiscard]] std::string session_list_view(const nlohmann::json& answer, const Colours& colours);
// The answer to `session.show`: what the session asks for, its rings, and its counts by event.
[[nodiscard]] std::string session_view(const nlohmann::json& session, const Colours& colours);
// A short table of the sessions in an answer to `status`.
[[nodiscard]] std::string session_summary(const nlohmann::json& sessions, const Colours& colours);

struct SnapshotListOptions {
  bool per_cpu = false;  // also a table of each snapshot's CPUs; times as in events
  bool verbose = false;  // also what does not fit into the table: full names, reasons, counts
};

// The answer to `snapshot.take`: the snapshot and, `with_previous`, both it and the one before it,
// with the command that shows both.
[[nodiscard]] std::string snapshot_taken_view(const nlohmann::json& answer, bool with_previous);

// The answer to snapshot.list as a table of at most 120 columns, followed by the reasons why
// snapshots cannot be read.
[[nodiscard]] std::string snapshot_list_view(const nlohmann::json& answer,
                                             const SnapshotListOptions& options,
                                             const Colours& colours);

}  // namespace ktraced
