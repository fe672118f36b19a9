// SPDX-License-Identifier: BSD-2-Clause
// How many hits each session saw.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "bpf/shared_state.h"

namespace ktraced {

// Chooses the word of each event that programs read (enum event_way), and knows from the counters
// that it names which hits each session saw: exactly those that loaded a word with the session in
// it. The counters that the kernel has of the recorder outlive the daemon; what is known of other
// sessions does not. Belongs to the main thread.
class SessionHits {
 public:
  // What it needs of the kernel.
  struct Kernel {
    std::span<u32, EVENT_ID_MAX> ways;  // by event id
    uint32_t cpus = 0;
    // One of the WAY_COUNTERS counters of hits.
    std::function<uint64_t(uint32_t cpu, uint32_t counter, uint16_t event)> count;
    // Waits for all programs that run now.
    std::function<void()> wait;
    // Programs cannot be preempted. Where they can, the ring could be full of newer records before
    // the copies for other sessions are made: then nothing is stored directly beside them.
    bool beside = true;
  };
  // Continues with the words that an earlier daemon has left.
  explicit SessionHits(Kernel kernel);

  struct Target {
    uint16_t event = 0;
    uint32_t sessions = 0;  // bits of the sessions that record it from now on
    bool direct = false;    // the recorder, if it is among them, has no filter for it
  };
  // Changes the sessions of these events. May wait for programs.
  void change(std::span<const Target> events);

  // Waits for programs that run now: what a session has seen of events that it has no more is
  // final.
  void settle() const { kernel_.wait(); }

  // Takes a session out of all events.
  void drop(uint32_t session);

  // Hits of this CPU that the session has seen, without those that the recorder stored directly:
  // of the recorder since its counters exist, of others since clear().
  [[nodiscard]] uint64_t seen(uint32_t session, uint32_t cpu, uint16_t event) const;
  // Hits of this CPU while no session had the event on: of a program that was being detached, or
  // that is attached for other reasons. Since this object exists.
  [[nodiscard]] uint64_t ignored(uint32_t cpu, uint16_t event) const {
    return seen(kNobody, cpu, event);
  }
  // The number of a session begins a new life.
  void clear(uint32_t session);

 private:
  static constexpr uint32_t kNobody = SESSIONS_MAX;  // stands for the lack of a session
  static constexpr uint32_t kNoCounter = WAY_COUNTERS;

  // The counts of one counter since it was chosen, for these sessions. By CPU.
  struct Period {
    uint32_t sessions = 0;
    uint32_t counter = kNoCounter;
    std::vector<uint64_t> before;
  };
  struct History {
    Period last;  // programs that loaded its word may still count
    Period now;
    std::array<std::vector<uint64_t>, SESSIONS_MAX + 1> seen;  // in earlier periods, by CPU
  };
  [[nodiscard]] Period begin(uint16_t event, uint32_t sessions, uint32_t counter) const;
  [[nodiscard]] History& history_of(uint16_t event);
  [[nodiscard]] uint64_t count(const Period& period, uint32_t session, uint32_t cpu,
                               uint16_t event) const;
  void settle(uint16_t event, History& history);
  // How hits are stored directly; 0: not at all.
  [[nodiscard]] uint32_t direct_bits(const Target& target) const;
  [[nodiscard]] bool changes_counters(const Target& target) const;
  void change(const Target& target);

  Kernel kernel_;
  std::map<uint16_t, History> histories_;  // of the events that any session has had
};

}  // namespace ktraced
