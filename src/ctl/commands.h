// SPDX-License-Identifier: BSD-2-Clause
// The commands that ask the daemon once and print its answer.
#pragma once

#include "base/error.h"
#include "ctl/options.h"
#include "ctl/rpc_client.h"

namespace ktraced {

// What a command prints on stdout, of the daemon's answer: JSON with `json`, else text.
[[nodiscard]] Result<std::string> run(const StatusCommand& command, bool json, RpcClient& client);
[[nodiscard]] Result<std::string> run(const EventsCommand& command, bool json, RpcClient& client);
[[nodiscard]] Result<std::string> run(const PlainCommand& command, bool json, RpcClient& client);
[[nodiscard]] Result<std::string> run(const FilterCommand& command, bool json, RpcClient& client);

}  // namespace ktraced
