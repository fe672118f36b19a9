// SPDX-License-Identifier: BSD-2-Clause
// Hints when there may be no output.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ctl/input/traced_events.h"
#include "ctl/live/rpc_client.h"

namespace ktraced {

// Which of the `chosen` events are not available, in a sentence each; `events`: as events.list
// answers.
[[nodiscard]] std::vector<std::string> unavailable_events(const std::vector<std::string>& chosen,
                                                          const nlohmann::json& events);

// Why a session records less than its client may expect; `session`: as session.show answers.
[[nodiscard]] std::vector<std::string> session_hints(const nlohmann::json& session);

// Prints the hints on a session, which of the `chosen` events are not available, and what `also`
// finds wrong with the session's events. Not being able to ask the daemon is no reason to stop.
void print_hints(
    RpcClient& client, const std::string& session, const std::vector<std::string>& chosen = {},
    const std::function<std::optional<std::string>(const EventNames& enabled)>& also = {});

}  // namespace ktraced
