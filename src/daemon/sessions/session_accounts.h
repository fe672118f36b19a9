// SPDX-License-Identifier: BSD-2-Clause
// The account of the hits of each session.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "daemon/events/event_catalog.h"
#include "daemon/sessions/session_hits.h"
#include "daemon/sessions/session_misses.h"
#include "kernel/rings/counters.h"
#include "kernel/rings/flight_recorder.h"

namespace ktraced {

// Counts of one event.
struct EventCounts {
  uint64_t recorded = 0;
  uint64_t filtered = 0;
  uint64_t dropped = 0;

  EventCounts& operator+=(const EventCounts& other);
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
  SessionAccounts(const EventCatalog& catalog, Counters& counters, const FlightRecorder& flight,
                  SessionHits& hits, const SessionMisses& misses)
      : catalog_(catalog), counters_(counters), flight_(flight), hits_(hits), misses_(misses) {}

  // Counts since the session began, or since its last reset: sums, and the counts of each CPU, by
  // number. Both are from one reading, so they agree while programs count.
  struct Reading {
    EventCounters counters;
    std::vector<EventCounts> per_cpu;

    Reading& operator+=(const Reading& other);
  };
  // `overwritten`: since the flight recorder was created, as its Reach has it; for the recorder.
  [[nodiscard]] Reading read(uint32_t session, const Event& event, uint64_t overwritten = 0) const;
  // The counts of all events that have any; not for the recorder.
  [[nodiscard]] std::map<uint16_t, Reading> read_all(uint32_t session) const;
  // The sum of all sessions but the recorder, also of those that have ended, since reset_ended().
  [[nodiscard]] Reading read_streams(const Event& event) const;
  // The parts of this sum: of the output, and of clients.
  [[nodiscard]] Reading read_output(const Event& event) const;
  [[nodiscard]] Reading read_clients(const Event& event) const;
  // Hits on all CPUs while no session had the event on, see SessionHits::ignored().
  [[nodiscard]] uint64_t ignored(const Event& event) const;
  // True if there was any hit, regardless of resets. Does not count missed hits: reading them takes
  // a system call.
  [[nodiscard]] bool any_hit(const Event& event) const;

  // A session gets this number: it counts from zero. With `adopted` its counters stay as an earlier
  // daemon has left them, for LossTracker.
  void begin(uint32_t session, bool adopted = false);
  // Waits for programs that run now: the counts of sessions that have no event any more are final.
  void settle() const { hits_.settle(); }
  // The session ends; no program counts for it any more.
  void end(uint32_t session);

  // From now on a session counts from zero. `emptied`: the flight recorder has just been emptied;
  // then the recorder counts what it has recorded since.
  void reset(uint32_t session, bool emptied = false);
  // When the session was last reset, ns of CLOCK_BOOTTIME; 0: not since it began.
  [[nodiscard]] uint64_t reset_ns(uint32_t session) const { return reset_ns_.at(session); }
  void reset_ended() { ended_.clear(); }

 private:
  struct Baseline {
    std::vector<EventCounts> per_cpu;
    uint64_t overwritten = 0;
  };
  using Key = std::pair<uint32_t, uint16_t>;  // session and event

  [[nodiscard]] Reading read_range(uint32_t first, uint32_t end, const Event& event) const;
  [[nodiscard]] EventCounts total(uint32_t session, uint32_t cpu, uint16_t event) const;
  [[nodiscard]] uint64_t missed(uint32_t session, uint16_t event) const;
  void reset_missed(uint32_t session);
  void set_baseline(uint32_t session, const Event& event, bool emptied, uint64_t overwritten);

  const EventCatalog& catalog_;
  Counters& counters_;
  const FlightRecorder& flight_;
  SessionHits& hits_;
  const SessionMisses& misses_;
  std::map<Key, Baseline> baselines_;
  std::map<Key, uint64_t> missed_before_;
  std::array<uint64_t, SESSIONS_MAX> reset_ns_{};  // by session
  std::map<Key, Reading> ended_;                   // sums of all that had this number
};

}  // namespace ktraced
