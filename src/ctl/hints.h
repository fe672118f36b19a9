// Why there may be nothing to see.
#pragma once

#include <string>
#include <vector>

#include "ctl/rpc_client.h"

namespace ktraced {

// Prints on stderr if no event is enabled, one that was chosen by name is not, or tracing is
// paused. Not being able to ask the daemon is no reason to stop.
void print_hints(const std::vector<std::string>& chosen_events, RpcClient& client);

}  // namespace ktraced
