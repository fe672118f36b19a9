// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/sessions/session_rules.h"

#include <algorithm>

#include "kernel/stacks/stack_programs.h"

namespace ktraced {

const EventSet& events_of(const SessionSet& sessions, const Session& session) {
  return session.own_events ? *session.own_events : sessions.recorder_events();
}

FilterSettings filter_of(const SessionSet& sessions, const Session& session) {
  const OwnFilter& own = session.own_filter;
  const OwnFilter& recorders = sessions.recorder().own_filter;
  const TaskFilter& tasks = own.tasks ? *own.tasks : *recorders.tasks;
  return {.include = tasks.include,
          .exclude = tasks.exclude,
          .syscall = own.syscalls ? *own.syscalls : *recorders.syscalls};
}

uint32_t with_tasks_of_recorder(const SessionSet& sessions) {
  uint32_t bits = sessions.recorder().bit();
  for (const Session& session : sessions.all())
    if (!session.own_filter.tasks) bits |= session.bit();
  return bits;
}

uint32_t with_syscalls_of_recorder(const SessionSet& sessions) {
  uint32_t bits = sessions.recorder().bit();
  for (const Session& session : sessions.all())
    if (!session.own_filter.syscalls) bits |= session.bit();
  return bits;
}

const EventSet& stacks_of(const SessionSet& sessions, const Session& session) {
  static const EventSet kNone;
  if (session.owner.own_only) return kNone;
  if (session.own_stacks) return *session.own_stacks;
  const auto& recorders = sessions.recorder().own_stacks;
  return session.own_events || !recorders ? kNone : *recorders;
}

uint32_t with_stacks(const SessionSet& sessions, const std::string& event) {
  uint32_t bits = 0;
  for (const Session& session : sessions.all())
    if (stacks_of(sessions, session).contains(event)) bits |= session.bit();
  return bits;
}

bool follows_recorder(const Session& session) {
  return !session.is_recorder() && !session.own_events && !session.own_stacks &&
         session.own_filter == OwnFilter{};
}

bool paused(const SessionSet& sessions, const Session& session) {
  return session.paused || (follows_recorder(session) && sessions.recorder().paused);
}

bool records(const SessionSet& sessions, const Session& session) {
  return session.has_sink && !paused(sessions, session);
}

bool any_records(const SessionSet& sessions) {
  return std::ranges::any_of(sessions.all(),
                             [&](const Session& session) { return records(sessions, session); });
}

bool has_strings(const std::string& event) {
  return event == "sys_enter_string" || event == "sys_exit_string";
}

bool is_for_administrators(const std::string& event) {
  return has_strings(event) || event == kSampleEvent;
}

bool may_record(const Session& session, const std::string& event) {
  if (session.owner.own_only && event.contains(':')) return false;
  return !is_for_administrators(event) || !session.owner.only_reads || follows_recorder(session);
}

uint32_t recording(const SessionSet& sessions, const std::string& event) {
  uint32_t bits = 0;
  for (const Session& session : sessions.all())
    if (records(sessions, session) && events_of(sessions, session).contains(event) &&
        may_record(session, event))
      bits |= session.bit();
  return bits;
}

}  // namespace ktraced
