// SPDX-License-Identifier: BSD-2-Clause
// What holds for a session: what it has asked for, or else what the recorder has.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/sessions/session_set.h"

namespace ktraced {

[[nodiscard]] const EventSet& events_of(const SessionSet& sessions, const Session& session);
[[nodiscard]] FilterSettings filter_of(const SessionSet& sessions, const Session& session);
// The recorder and the sessions that have its part of the filter, by bits.
[[nodiscard]] uint32_t with_tasks_of_recorder(const SessionSet& sessions);
[[nodiscard]] uint32_t with_syscalls_of_recorder(const SessionSet& sessions);
// The events that a session has with stacks. A session that sees events of its own processes only
// has none: an event about one of them can be recorded in another process.
[[nodiscard]] const EventSet& stacks_of(const SessionSet& sessions, const Session& session);
// The sessions that have this event with stacks if they have it, by bits.
[[nodiscard]] uint32_t with_stacks(const SessionSet& sessions, const std::string& event);
// True if a session has asked for nothing of its own: it shows what the recorder records.
[[nodiscard]] bool follows_recorder(const Session& session);

// A paused recorder also pauses the sessions that follow it.
[[nodiscard]] bool paused(const SessionSet& sessions, const Session& session);
// True if a session records now.
[[nodiscard]] bool records(const SessionSet& sessions, const Session& session);
// True if any session records.
[[nodiscard]] bool any_records(const SessionSet& sessions);
// True for the events of the group "strings": strings of system calls are data of other users'
// processes.
[[nodiscard]] bool has_strings(const std::string& event);
// True for events that only administrators select: strings, and samples, which have stacks of other
// users' processes.
[[nodiscard]] bool is_for_administrators(const std::string& event);
// A session of a client that may only read has those as the recorder records them, or not at all.
// One that sees events of its own processes only has no dynamic events: these may be about others.
[[nodiscard]] bool may_record(const Session& session, const std::string& event);
// The sessions that record this event now, by bits.
[[nodiscard]] uint32_t recording(const SessionSet& sessions, const std::string& event);

}  // namespace ktraced
