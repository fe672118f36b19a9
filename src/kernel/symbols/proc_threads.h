// SPDX-License-Identifier: BSD-2-Clause
// The live threads as /proc shows them.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/error.h"
#include "bpf/shared_state.h"

namespace ktraced {

// The clock tick of /proc in nanoseconds: the resolution of its start times.
[[nodiscard]] uint64_t proc_tick_ns();

// A thread's name as the tracepoints report it, from the text of its "comm" file in /proc. The file
// adds a kworker's current work to its name: "kworker/0:1-events".
[[nodiscard]] std::string_view comm_of_proc(std::string_view text);

// Visits every thread; `since` and `seen` are 0. Fails with ExitCode::io or no_permission if some
// could not be read; those that have ended are no failure.
[[nodiscard]] Result<> for_each_proc_thread(
    const std::function<void(uint32_t tid, const task_info& info)>& visit);

}  // namespace ktraced
