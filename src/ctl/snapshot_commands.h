// The commands `snapshot …`.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"
#include "ctl/options.h"
#include "ctl/rpc_client.h"
#include "ctl/terminal.h"

namespace ktraced {

// A snapshot takes as long as the disk needs.
inline constexpr std::chrono::seconds kSnapshotPatience{3600};

// What the command prints on stdout, of the daemon's answer: JSON with `json`, else text.
[[nodiscard]] Result<std::string> run(const SnapshotCommand& command, bool json, RpcClient& client);

// The answer to snapshot.list as a table, with the word complete or what is missing. `per_cpu`:
// then also a table of the CPUs of each; their times are CLOCK_BOOTTIME in seconds, as of events.
[[nodiscard]] std::string snapshot_list_view(const nlohmann::json& answer, bool per_cpu,
                                             const Colours& colours);

}  // namespace ktraced
