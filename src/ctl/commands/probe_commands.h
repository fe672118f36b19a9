// SPDX-License-Identifier: BSD-2-Clause
// The commands `probe …`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"
#include "ctl/input/options.h"
#include "ctl/live/rpc_client.h"

namespace ktraced {

// The text that the command prints on stdout for the daemon's answer: JSON with `json`.
[[nodiscard]] Result<std::string> run(const ProbesCommand& command, bool json, RpcClient& client);

// The answer to probe.list as definitions that can be used as input again, each with a comment that
// has its hits and misses.
[[nodiscard]] std::string probe_list_view(const nlohmann::json& answer);

}  // namespace ktraced
