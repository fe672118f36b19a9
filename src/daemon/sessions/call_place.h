// SPDX-License-Identifier: BSD-2-Clause
// Where the hits of events are counted: at most in three places.
#pragma once

#include <cstdint>

#include "bpf/shared_state.h"
#include "kernel/stacks/stack_programs.h"

namespace ktraced {

// The hits of sys_enter and sys_exit are counted under the event's id at the tracepoint, and under
// this number at the functions of the calls. 0 for other events.
[[nodiscard]] inline uint16_t call_place(uint16_t event) {
  if (event == EVENT_sys_enter) return CALL_ENTERED;
  return event == EVENT_sys_exit ? CALL_RETURNED : 0;
}

// The sum of what is counted in all places of an event: under its id, at functions, and by the
// program that records it with stacks.
[[nodiscard]] uint64_t sum_of_places(uint16_t event, auto&& count) {
  const uint16_t functions = call_place(event), stacks = stack_place(event);
  return count(event) + (functions != 0 ? count(functions) : 0) + (stacks != 0 ? count(stacks) : 0);
}

// Does the event depend on which system calls are selected? Strings are never recorded directly.
[[nodiscard]] inline bool selects_calls(uint16_t event) {
  return call_place(event) != 0 || event == EVENT_sys_completed;
}

}  // namespace ktraced
