// SPDX-License-Identifier: BSD-2-Clause
// The commands that send one request to the daemon and print its answer.
#pragma once

#include "base/error.h"
#include "ctl/input/options.h"
#include "ctl/live/rpc_client.h"

namespace ktraced {

// The text that a command prints on stdout for the daemon's answer: JSON with `json`.
[[nodiscard]] Result<std::string> run(const StatusCommand& command, bool json, RpcClient& client);
[[nodiscard]] Result<std::string> run(const EventsCommand& command, bool json, RpcClient& client);
[[nodiscard]] Result<std::string> run(const PlainCommand& command, bool json, RpcClient& client);
[[nodiscard]] Result<std::string> run(const FilterCommand& command, bool json, RpcClient& client);
[[nodiscard]] Result<std::string> run(const SessionCommand& command, bool json, RpcClient& client);

}  // namespace ktraced
