// SPDX-License-Identifier: BSD-2-Clause
// The methods about sessions: "session.list", "session.show" and "stream.subscribe".
#pragma once

#include "daemon/control/methods.h"

namespace ktraced {

// The session of session_parameter(). One that the client may not see does not exist for it.
[[nodiscard]] Result<Session*> visible_session(const MethodTargets& t, const nlohmann::json& params,
                                               const Peer& peer);

void add_session_methods(ControlServer& server, const MethodTargets& targets);

}  // namespace ktraced
