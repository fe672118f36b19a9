// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/events/exact_events.h"

namespace ktraced {
namespace {

bool is_exact(Exact config, bool needed) {
  return config == Exact::always || (config == Exact::when_needed && needed);
}

}  // namespace

// Memory is allocated and freed in interrupts, on every kernel. System calls are not made there:
// only a task that is preempted inside a program lets others' hits be skipped.
EventSet exact_events(const ExactConfig& config, const KernelFeatures& features,
                      const Schema& schema) {
  const bool kmem = is_exact(config.kmem, true);
  const bool syscalls = is_exact(config.syscalls, features.flags.preemptible != 0);
  EventSet events;
  for (const Event& event : schema.events())
    if ((kmem && event.group == "kmem") ||
        (syscalls && (event.group == "syscalls" || is_part_of_syscalls(event.group))))
      events.insert(event.name);
  return events;
}

}  // namespace ktraced
