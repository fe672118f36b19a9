// SPDX-License-Identifier: BSD-2-Clause
// `status.overhead`: how often and how long the BPF programs run.
#pragma once

#include "daemon/control/control_server.h"
#include "daemon/control/methods.h"

namespace ktraced {

// Turns the kernel's statistics on while it measures, so it is for administrators.
void add_overhead_method(ControlServer& server, const MethodTargets& targets);

}  // namespace ktraced
