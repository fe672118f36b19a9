// SPDX-License-Identifier: BSD-2-Clause
// Threads that run as soon as they are woken.
#pragma once

#include <pthread.h>

#include "base/error.h"

namespace ktraced {

// Lets a thread run before those of all normal programs (SCHED_RR, its lowest priority), also where
// these keep all CPUs busy; or like them again. For threads that compute little: no normal thread
// runs on their CPU meanwhile. Fails with ExitCode::no_permission: that takes CAP_SYS_NICE, or a
// limit RLIMIT_RTPRIO of at least 1.
[[nodiscard]] Result<> set_realtime(pthread_t thread, bool on);

// Does it?
[[nodiscard]] bool is_realtime(pthread_t thread);

}  // namespace ktraced
