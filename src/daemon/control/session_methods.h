// SPDX-License-Identifier: BSD-2-Clause
// The methods about sessions: "session.list", "session.show" and "stream.subscribe".
#pragma once

#include "daemon/control/methods.h"

namespace ktraced {

// Fails with ExitCode::no_permission if the parameter "session" names a session that the client may
// not see, or as session_parameter().
[[nodiscard]] Result<> check_visible(const MethodTargets& t, const nlohmann::json& params,
                                     const Peer& peer);

void add_session_methods(ControlServer& server, const MethodTargets& targets);

}  // namespace ktraced
