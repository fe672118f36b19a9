// SPDX-License-Identifier: BSD-2-Clause
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

}  // namespace ktraced
