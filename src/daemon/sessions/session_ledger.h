// SPDX-License-Identifier: BSD-2-Clause
// How many hits each session saw, and how many the kernel missed of it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "bpf/shared_state.h"
#include "kernel/pins/ledger.h"

namespace ktraced {

// Decides which sessions have which event on, and reads the counters at each change. A session has
// the hits and misses of the stretches of time in which it had the event on.
//
// Hits: the word of an event that programs read (enum event_way) names the counter of the hits of
// those that loaded it. Each stretch has another counter than the one before. When all programs
// that loaded the old word have ended, the hits of the old stretch are added to a sum. The counters
// of the recorder's hits outlive the daemon; what is known of other sessions does not.
//
// Misses: the kernel counts them by program. These sums outlive the daemon.
//
// All counts are of the session's number, so of all sessions that have had it, and never decrease.
// Belongs to the main thread, except for missed().
class SessionLedger {
 public:
  // What it needs of the kernel.
  struct Kernel {
    std::span<u32, EVENT_ID_MAX> ways;  // by event id
    uint32_t cpus = 0;
    // One of the WAY_COUNTERS counters of hits.
    std::function<uint64_t(uint32_t cpu, uint32_t counter, uint16_t event)> hits;
    // Hits of an event, or of a call_place(), that its programs have missed so far. Thread-safe.
    std::function<uint64_t(uint16_t event)> missed;
    // Waits for all programs that run now.
    std::function<void()> wait;
    // Programs cannot be preempted. Where they can, the ring could be full of newer records before
    // the copies for other sessions are made: then nothing is stored directly beside them.
    bool beside = true;
  };
  // Continues with the words that an earlier daemon has left, and with `misses`, those of the
  // Ledger, which must outlive this.
  SessionLedger(Kernel kernel, std::span<SessionMissesEntry> misses);
  // Continues after a daemon that has left words, but no misses: the recorder and the output have
  // all hits missed so far.
  void adopt_without_misses();

  struct Target {
    uint16_t event = 0;
    uint32_t sessions = 0;  // bits of the sessions that record it from now on
    bool direct = false;    // the recorder, if it is among them, has no filter for it
  };
  // Changes the sessions of these events, each of which occurs once. On return no program records
  // for a session that has its event no more.
  void change(std::span<const Target> events);
  // Takes these sessions, as bits, out of all events.
  void drop(uint32_t sessions);

  // Hits of this CPU that the session has seen, at the tracepoint and at functions, without those
  // that the recorder stored directly. Of the recorder since its counters exist, of others since
  // this object exists.
  [[nodiscard]] uint64_t hits(uint32_t session, uint32_t cpu, uint16_t event) const;
  // Hits of this CPU while no session had the event on: of a program that was being detached, or
  // that is attached for other reasons. Since this object exists.
  [[nodiscard]] uint64_t ignored(uint32_t cpu, uint16_t event) const {
    return hits(kNobody, cpu, event);
  }
  // Hits missed while the session had the event on, at the tracepoint and at functions. Those
  // missed while an event is switched on or off are counted. Any thread.
  [[nodiscard]] uint64_t missed(uint32_t session, uint16_t event) const;

 private:
  static constexpr uint32_t kNobody = SESSIONS_MAX;  // stands for the lack of a session

  // The hits of an event; vectors are by CPU, empty if all are zero.
  struct Hits {
    std::vector<uint64_t> before;  // of the counter that the word names, when the stretch began
    std::array<std::vector<uint64_t>, SESSIONS_MAX + 1> ended;  // in earlier stretches, by session
  };
  // A stretch that has ended, and the counter's readings for the next one.
  struct Ended {
    uint16_t event = 0;
    uint32_t way = 0;
    std::vector<uint64_t> next;
  };
  [[nodiscard]] std::vector<uint64_t> read(uint16_t event, uint32_t way) const;
  [[nodiscard]] uint64_t hits_at(uint32_t session, uint32_t cpu, uint16_t place,
                                 uint32_t way) const;
  [[nodiscard]] uint32_t direct_bits(const Target& target) const;
  void add(Ended ended);
  [[nodiscard]] SessionMissesEntry& misses(uint32_t session, uint16_t place) const {
    return misses_[size_t{session} * EVENT_ID_MAX + place];
  }
  void switch_misses(uint16_t place, uint32_t sessions, bool on);

  Kernel kernel_;
  std::map<uint16_t, Hits> hits_;         // by event or call_place(); missing: all are zero
  mutable std::mutex mutex_;              // guards misses_
  std::span<SessionMissesEntry> misses_;  // by session and event or call_place()
};

}  // namespace ktraced
