// SPDX-License-Identifier: BSD-2-Clause
// The commands `snapshot …`.
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"
#include "ctl/input/options.h"
#include "ctl/live/rpc_client.h"
#include "ctl/terminal/terminal.h"

namespace ktraced {

// Writing a snapshot takes as long as the disk needs.
inline constexpr std::chrono::seconds kSnapshotTimeout{3600};

// The text that the command prints on stdout for the daemon's answer: JSON with `json`.
[[nodiscard]] Result<std::string> run(const SnapshotCommand& command, bool json, RpcClient& client);

}  // namespace ktraced
