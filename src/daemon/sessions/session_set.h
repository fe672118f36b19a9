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

// The failure of a request that names no session: ExitCode::usage.
[[nodiscard]] std::unexpected<Error> no_session(const std::string& name);

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
  // The session of this name. Fails with ExitCode::usage if there is none.
  [[nodiscard]] Result<Session*> named(const std::string& name);

  // The events of the recorder.
  [[nodiscard]] const EventSet& recorder_events() const { return recorder_events_; }

 private:
  [[nodiscard]] Result<> check_room(const SessionOwner& owner) const;

  const EventSet& recorder_events_;
  std::list<Session> sessions_;
  uint64_t clients_ = 0;  // so far
};

}  // namespace ktraced
