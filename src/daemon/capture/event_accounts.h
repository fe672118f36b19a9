// SPDX-License-Identifier: BSD-2-Clause
// Counts of events since the last reset.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "daemon/events/event_catalog.h"
#include "daemon/stream/rings.h"

namespace ktraced {

// What happened to the hits of one event.
struct EventCounters {
  EventCounts counts;
  uint64_t missed = 0;       // sum of all CPUs
  uint64_t overwritten = 0;  // records in the flight recorder, sum of all CPUs

  EventCounters& operator+=(const EventCounters& other);
  [[nodiscard]] bool any() const;
};

struct CpuEventCounts {
  uint32_t cpu = 0;
  EventCounts counts;
};

// Belongs to the main thread.
class EventAccounts {
 public:
  // Both must outlive this.
  EventAccounts(const EventCatalog& catalog, Rings& rings) : catalog_(catalog), rings_(rings) {}

  // Counts since the last reset: sums, and the counts of each CPU that has a ring or any count.
  // Both are from one reading, so they agree while programs count.
  struct Reading {
    EventCounters counters;
    std::vector<CpuEventCounts> per_cpu;
  };
  // `overwritten`: since the flight recorder was created, as its Reach has it.
  [[nodiscard]] Reading read(const Event& event, uint64_t overwritten) const;
  // True if there was any hit, regardless of resets. Does not count missed hits: reading them takes
  // a system call.
  [[nodiscard]] bool any_hit(const Event& event) const;

  // The number of records that reset() has discarded.
  struct Discarded {
    uint64_t unread = 0;   // in the stream rings
    uint64_t history = 0;  // in the flight recorder
  };
  // Empties the stream rings and, unless `keep_history`, the flight recorder, and sets the
  // counters to zero: from then on they count what the emptied flight recorder holds or has
  // overwritten. Fails with ExitCode::unavailable, and changes nothing, while the flight recorder
  // has no spare bank.
  Result<Discarded> reset(Drain& drain, bool keep_history);

 private:
  struct Baseline {
    std::vector<EventCounts> per_cpu;
    uint64_t missed = 0;
    uint64_t overwritten = 0;
  };
  [[nodiscard]] EventCounts total(uint32_t cpu, uint16_t event) const;
  [[nodiscard]] EventCounts since_reset(uint32_t cpu, uint16_t event) const;
  [[nodiscard]] Baseline baseline(const Event& event, bool emptied, uint64_t overwritten) const;

  const EventCatalog& catalog_;
  Rings& rings_;
  std::map<uint16_t, Baseline> baselines_;  // counts at the last reset
};

}  // namespace ktraced
