// SPDX-License-Identifier: BSD-2-Clause
// The methods about sessions: "session.list", "session.show" and "stream.subscribe".
#pragma once

#include "daemon/control/methods.h"

namespace ktraced {

void add_session_methods(ControlServer& server, const MethodTargets& targets);

}  // namespace ktraced
