// SPDX-License-Identifier: BSD-2-Clause
// Opens a session of the daemon.
#pragma once

#include "base/error.h"
#include "ctl/input/session_request.h"
#include "ctl/live/live_source.h"
#include "ctl/live/rpc_client.h"

namespace ktraced {

// Turns the connection into the stream of a session of its own. Fails as LiveSource::subscribe().
[[nodiscard]] Result<LiveSource> open_session(RpcClient client, const SelectionArgs& selection,
                                              const SessionArgs& session = {});

}  // namespace ktraced
