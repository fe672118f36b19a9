// SPDX-License-Identifier: BSD-2-Clause
#include "base/realtime.h"

#include <sched.h>

namespace ktraced {

Result<> set_realtime(pthread_t thread, bool on) {
  if (on == is_realtime(thread)) return {};
  const sched_param priority{.sched_priority = on ? ::sched_get_priority_min(SCHED_RR) : 0};
  if (const int error = ::pthread_setschedparam(thread, on ? SCHED_RR : SCHED_OTHER, &priority);
      error != 0)
    return fail(ExitCode::no_permission, "no real-time priority for a thread: {}",
                errno_text(error));
  return {};
}

bool is_realtime(pthread_t thread) {
  int policy = SCHED_OTHER;
  sched_param priority{};
  return ::pthread_getschedparam(thread, &policy, &priority) == 0 && policy == SCHED_RR;
}

}  // namespace ktraced
