// SPDX-License-Identifier: BSD-2-Clause
// The commands `probe …`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"
#include "ctl/options.h"
#include "ctl/rpc_client.h"

namespace ktraced {

// What the command prints on stdout, of the daemon's answer: JSON with `json`, else text.
[[nodiscard]] Result<std::string> run(const ProbesCommand& command, bool json, RpcClient& client);

// The answer to probe.list as definitions that can be given again, each with a comment that tells
// its hits and misses.
[[nodiscard]] std::string probe_list_view(const nlohmann::json& answer);

}  // namespace ktraced
