// SPDX-License-Identifier: BSD-2-Clause
// The account of the hits of each session.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "daemon/events/event_catalog.h"
#include "daemon/sessions/session_ledger.h"
#include "kernel/rings/counters.h"
#include "kernel/rings/flight_recorder.h"

namespace ktraced {

// Counts of one event.
struct EventCounts {
  uint64_t recorded = 0;
  uint64_t filtered = 0;
  uint64_t dropped = 0;

  EventCounts& operator+=(const EventCounts& other);
  EventCounts& operator-=(const EventCounts& other);
  bool operator==(const EventCounts&) const = default;
};

// What happened to the hits of one event while it was on.
struct EventCounters {
  EventCounts counts;
  uint64_t missed = 0;       // sum of all CPUs
  uint64_t overwritten = 0;  // records in the flight recorder, sum of all CPUs

  EventCounters& operator+=(const EventCounters& other);
  [[nodiscard]] bool any() const;
};

// For each session, CPU and event: hits = recorded + filtered + dropped + missed. Belongs to the
// main thread.
class SessionAccounts {
 public:
  // All must outlive this.
  SessionAccounts(const EventCatalog& catalog, const Counters& counters,
                  const FlightRecorder& flight, const SessionLedger& ledger)
      : catalog_(catalog), counters_(counters), flight_(flight), ledger_(ledger) {}

  // Counts since the session began, or since its last reset: sums, and the counts of each CPU, by
  // number. Both are from one reading, so they agree while programs count.
  struct Reading {
    EventCounters counters;
    std::vector<EventCounts> per_cpu;

    Reading& operator+=(const Reading& other);
    // A read of what is being counted can briefly be too low: never less than zero.
    Reading& operator-=(const Reading& base);
  };
  // `overwritten`: since the flight recorder was created, as its Reach has it; for the recorder.
  [[nodiscard]] Reading read(uint32_t session, const Event& event, uint64_t overwritten = 0) const;
  // The counts of all events that have any; not for the recorder.
  [[nodiscard]] std::map<uint16_t, Reading> read_all(uint32_t session) const;
  // These counts for its client, as metadata records: one for each event, then one with the
  // sums.
  [[nodiscard]] std::vector<std::byte> records(uint32_t session) const;
  // The sum of the sessions from number `first` up to, not including, `end`, without the recorder;
  // also of those that have ended since reset_ended().
  [[nodiscard]] Reading read_sum(uint32_t first, uint32_t end, const Event& event) const;
  // Hits on all CPUs while no session had the event on, see SessionLedger::ignored().
  [[nodiscard]] uint64_t ignored(const Event& event) const;
  // True if there was any hit, regardless of resets. Does not count missed hits: reading them takes
  // a system call.
  [[nodiscard]] bool any_hit(const Event& event) const;

  // A session gets this number: it counts from zero.
  void begin(uint32_t session);
  // The session ends; no program counts for it any more.
  void end(uint32_t session);

  // From now on a session counts from zero. `emptied`: the flight recorder has just been emptied;
  // then the recorder counts what it has recorded since.
  void reset(uint32_t session, bool emptied = false);
  // When the session was last reset, ns of CLOCK_BOOTTIME; 0: not since it began.
  [[nodiscard]] uint64_t reset_ns(uint32_t session) const { return reset_ns_.at(session); }
  void reset_ended() { ended_.clear(); }

 private:
  using Key = std::pair<uint32_t, uint16_t>;  // session and event

  // The counts of all sessions that have had the number; `emptied`: as for reset().
  [[nodiscard]] Reading total(uint32_t session, const Event& event, uint64_t overwritten,
                              bool emptied = false) const;

  const EventCatalog& catalog_;
  const Counters& counters_;
  const FlightRecorder& flight_;
  const SessionLedger& ledger_;
  std::map<Key, Reading> baselines_;               // totals when the counts were zero; none: zero
  std::array<uint64_t, SESSIONS_MAX> reset_ns_{};  // by session
  std::map<Key, Reading> ended_;                   // sums of all that had this number
};

}  // namespace ktraced
