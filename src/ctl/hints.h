// SPDX-License-Identifier: BSD-2-Clause
// Why there may be nothing to see.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ctl/rpc_client.h"
#include "ctl/traced_events.h"

namespace ktraced {

// Prints on stderr if no event is enabled, one that was chosen by name is not, or tracing is
// paused; and what `also` finds wrong with the events that are enabled. Not being able to ask the
// daemon is no reason to stop.
void print_hints(
    const std::vector<std::string>& chosen_events, RpcClient& client,
    const std::function<std::optional<std::string>(const EventNames& enabled)>& also = {});

}  // namespace ktraced
