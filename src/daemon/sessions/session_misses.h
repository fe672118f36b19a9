// SPDX-License-Identifier: BSD-2-Clause
// How many hits the kernel missed of each session.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "bpf/shared_state.h"
#include "kernel/pins/ledger.h"

namespace ktraced {

// The kernel counts missed hits by program. A session has those counted while it had the event on.
// The entries of the recorder and the output live as long as the programs, so that a daemon that
// adopts them continues the counts. begin() and end() belong to one thread, of() is thread-safe.
class SessionMisses {
 public:
  using Entry = SessionMissesEntry;
  // Returns how many hits of an event, or of a call_place(), its programs have missed so far. It
  // never decreases.
  // Thread-safe.
  using Count = std::function<uint64_t(uint16_t event)>;

  // `kept`: those of the Ledger, all zero or left by an earlier daemon; must outlive this.
  SessionMisses(std::span<Entry> kept, Count count) : kept_(kept), count_(std::move(count)) {}

  // Continues after a daemon that has left no entries: the recorder and the output have all hits
  // missed so far. `ways`: of the events, by id.
  void adopt_without_entries(std::span<const u32, EVENT_ID_MAX> ways);
  // From now on the sessions with these bits have the event on. Call it before programs know it.
  void begin(uint16_t event, uint32_t sessions);
  // From now on all but the sessions with these bits have the event off. Call it when programs know
  // it. A daemon that is killed meanwhile may leave hits that are counted twice, but never loses
  // any.
  void end(uint16_t event, uint32_t others);
  // Hits missed while the session had the event on, in both its places; of its number, so of all
  // sessions that have had the number. Never decreases.
  [[nodiscard]] uint64_t of(uint32_t session, uint16_t event) const;

 private:
  [[nodiscard]] Entry* find(uint32_t session, uint16_t event) const;
  [[nodiscard]] Entry& entry(uint32_t session, uint16_t event);
  void set(uint16_t event, uint32_t sessions, bool on);
  [[nodiscard]] uint64_t at(uint32_t session, uint16_t place) const;

  std::span<Entry> kept_;
  Count count_;
  mutable std::mutex mutex_;
  mutable std::map<std::pair<uint32_t, uint16_t>, Entry> of_clients_;  // by session and event
};

}  // namespace ktraced
