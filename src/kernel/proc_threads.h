// SPDX-License-Identifier: BSD-2-Clause
// The living threads as /proc shows them.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "bpf/shared_state.h"

namespace ktraced {

// The clock tick of /proc in nanoseconds: its start times have no finer parts.
[[nodiscard]] uint64_t proc_tick_ns();

// A thread's name, from its "comm" file in /proc, as the tracepoints give it: there a kworker is
// called "kworker/0:1-events", with what it works on.
[[nodiscard]] std::string_view comm_of_proc(std::string_view text);

// Visits every thread; `since` and `seen` are 0.
void for_each_proc_thread(const std::function<void(uint32_t tid, const task_info& info)>& visit);

}  // namespace ktraced
