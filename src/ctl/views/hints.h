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

// Which of the `chosen` events are not enabled, in one sentence, and which are not available, in
// one each; `events`: as events.list answers.
[[nodiscard]] std::vector<std::string> disabled_events(const std::vector<std::string>& chosen,
                                                       const nlohmann::json& events);

// Prints on stderr if no event is enabled, one that was chosen by name is not, or tracing is
// paused; and what `also` finds wrong with the events that are enabled. Not being able to ask the
// daemon is no reason to stop.
void print_hints(
    const std::vector<std::string>& chosen_events, RpcClient& client,
    const std::function<std::optional<std::string>(const EventNames& enabled)>& also = {});

}  // namespace ktraced
