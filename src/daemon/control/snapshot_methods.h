// SPDX-License-Identifier: BSD-2-Clause
// The control methods snapshot.* (docs/protocol.md).
#pragma once

#include "daemon/control/command_queue.h"
#include "daemon/control/control_server.h"
#include "daemon/control/methods.h"
#include "daemon/snapshots/snapshots.h"

namespace ktraced {

// All must outlive the server.
void add_snapshot_methods(ControlServer& server, const MethodTargets& targets);

}  // namespace ktraced
