// SPDX-License-Identifier: BSD-2-Clause
// Names of tasks as they are typed.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace ktraced {

// The kernel's name of a task that ps(1) shows by another one. For a worker of a work queue the
// kernel shows in /proc/PID/comm also what it runs or ran last: "kworker/u8:3-events_unbound" or,
// while it runs, "kworker/u8:3+events_unbound"; and the whole of a name that it keeps the first 15
// bytes of: "kworker/R-kvfree_rcu_reclaim". Other texts are returned as they are.
[[nodiscard]] std::string kernel_comm(std::string_view shown);

// A pattern of names: a name, or the beginning of one and '*'. Names are those of kernel_comm().
// Fails with ExitCode::usage if no task can have one, as the daemon does for its filters.
[[nodiscard]] Result<std::string> comm_pattern(std::string_view typed);

}  // namespace ktraced
