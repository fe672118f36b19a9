// SPDX-License-Identifier: BSD-2-Clause
// Opens a session of the daemon, and makes what a client selects mean the same to the daemon.
#pragma once

#include <string>

#include "base/error.h"
#include "ctl/input/session_request.h"
#include "ctl/live/live_source.h"
#include "ctl/live/rpc_client.h"

namespace ktraced {

// In another pid namespace than the initial one, replaces the ids of processes and threads by those
// that the kernel, and so each event, has. Elsewhere they are the same, and nothing is asked. Fails
// with the daemon's error, as for an id that it does not find.
[[nodiscard]] Result<> resolve_pids(const std::string& socket, SelectionArgs& selection,
                                    SessionArgs& session);
// Replaces those in the "filter" of filter.set.
[[nodiscard]] Result<> resolve_pids(RpcClient& client, nlohmann::json& filter);

// Are there ids in a filter of which the daemon has to know that they are the kernel's?
[[nodiscard]] bool are_kernel_pids(nlohmann::json& filter);

// Turns the connection into the stream of a session of its own. All ids are those of the kernel,
// see resolve_pids(). Fails as LiveSource::subscribe().
[[nodiscard]] Result<LiveSource> open_session(RpcClient client, const SelectionArgs& selection,
                                              const SessionArgs& session = {});

}  // namespace ktraced
