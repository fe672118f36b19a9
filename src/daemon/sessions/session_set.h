// SPDX-License-Identifier: BSD-2-Clause
// The sessions that exist.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "base/error.h"
#include "daemon/sessions/session.h"

namespace ktraced {

// Longest name of a session, in bytes.
inline constexpr size_t kSessionNameMax = 64;

// At most SESSIONS_MAX sessions, by number. The recorder and the output always have theirs; they
// record only while they have a sink. Belongs to the main thread.
class SessionSet {
 public:
  // `recorder_events`: the events of the recorder; must outlive this.
  explicit SessionSet(const EventSet& recorder_events);
  SessionSet(const SessionSet&) = delete;
  SessionSet& operator=(const SessionSet&) = delete;

  [[nodiscard]] Session& recorder() { return *find(SESSION_RECORDER); }
  [[nodiscard]] const Session& recorder() const { return *find(SESSION_RECORDER); }
  [[nodiscard]] Session& output() { return *find(SESSION_OUTPUT); }
  [[nodiscard]] const Session& output() const { return *find(SESSION_OUTPUT); }

  // Adds a client's session without a sink. An empty name stands for "client-N". Fails with
  // ExitCode::usage for a bad or used name, and with ExitCode::unavailable when no number is free.
  Result<Session*> add(const std::string& name, const SessionOwner& owner, uint64_t now_ns);
  void remove(uint32_t number);

  // All, by number.
  [[nodiscard]] const std::list<Session>& all() const { return sessions_; }
  [[nodiscard]] std::list<Session>& all() { return sessions_; }
  // Null if there is none.
  [[nodiscard]] Session* find(uint32_t number);
  [[nodiscard]] const Session* find(uint32_t number) const;
  // By name. Fails with ExitCode::usage.
  [[nodiscard]] Result<Session*> named(const std::string& name);

  // The events of a session.
  [[nodiscard]] const EventSet& events_of(const Session& session) const {
    return session.own_events ? *session.own_events : recorder_events_;
  }
  // The filter of a session.
  [[nodiscard]] FilterSettings filter_of(const Session& session) const;
  // The filter of the recorder.
  void set_recorder_filter(const FilterSettings& filter) {
    recorder().own_filter = OwnFilter::of(filter);
  }
  // True if a session has asked for nothing of its own: it shows what the recorder records.
  [[nodiscard]] bool follows_recorder(const Session& session) const {
    return !session.is_recorder() && !session.own_events && session.own_filter == OwnFilter{};
  }
  // A paused recorder also pauses the sessions that follow it.
  [[nodiscard]] bool paused(const Session& session) const {
    return suspended_ || session.paused || (follows_recorder(session) && recorder().paused);
  }
  // Pauses all sessions, or ends that: each is then as it was.
  void suspend(bool suspended) { suspended_ = suspended; }
  // True if a session records now.
  [[nodiscard]] bool records(const Session& session) const {
    return session.has_sink && !paused(session);
  }
  // The recorder and the sessions that have its part of the filter, by bits.
  [[nodiscard]] uint32_t with_tasks_of_recorder() const;
  [[nodiscard]] uint32_t with_syscalls_of_recorder() const;

  // True if any session records.
  [[nodiscard]] bool any_records() const;
  // The sessions that record this event now, by bits.
  [[nodiscard]] uint32_t recording(const std::string& event) const;

 private:
  [[nodiscard]] Result<> check_room(const SessionOwner& owner) const;

  const EventSet& recorder_events_;
  std::list<Session> sessions_;
  uint64_t clients_ = 0;  // so far
  bool suspended_ = false;
};

}  // namespace ktraced
