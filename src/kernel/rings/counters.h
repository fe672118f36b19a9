// SPDX-License-Identifier: BSD-2-Clause
// The programs' counters, read from memory shared with the kernel.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/mapping.h"
#include "bpf/shared_state.h"
#include "kernel/programs/bpf_object.h"
#include "trace/packet/packet.h"

namespace ktraced {

// Counts of one event. The kernel counts misses for all CPUs together.
struct EventCounts {
  uint64_t recorded = 0;  // in Counters: without those counted by flight rings; may wrap below 0
  uint64_t filtered = 0;
  uint64_t dropped = 0;

  EventCounts& operator+=(const EventCounts& other);
  bool operator==(const EventCounts&) const = default;
};

// Events lost, by CPU.
using LostByCpu = std::map<uint32_t, std::vector<Lost>>;

// The per-CPU counters. Reading costs no system call and may be done on any thread.
class Counters {
 public:
  // Fails with ExitCode::os.
  static Result<Counters> open(const BpfObject& object);

  [[nodiscard]] uint32_t cpus() const { return cpus_; }
  [[nodiscard]] EventCounts of(uint32_t cpu, uint16_t event) const;
  // Adds the count of a flight ring that is being released.
  void add_recorded(uint32_t cpu, uint16_t event, uint64_t records);
  [[nodiscard]] uint64_t dropped_total(uint32_t cpu) const;
  [[nodiscard]] uint64_t names_dropped() const;
  // Hits of one CPU, by event, for which the flight recorder had no ring and that no snapshot has
  // reported yet.
  [[nodiscard]] std::vector<Lost> flight_drops(uint32_t cpu) const;
  // A snapshot has reported these. For one thread.
  void report_flight_drops(uint32_t cpu, std::span<const Lost> lost);
  // Drops reported to readers; see LossTracker.
  [[nodiscard]] u64& reported(uint32_t cpu, uint16_t event) {
    return state(cpu).events[event].reported;
  }

 private:
  Counters(Mapping mapping, uint32_t cpus) : mapping_(std::move(mapping)), cpus_(cpus) {}
  [[nodiscard]] const cpu_state& state(uint32_t cpu) const {
    return reinterpret_cast<const cpu_state*>(mapping_.data())[cpu];
  }
  [[nodiscard]] cpu_state& state(uint32_t cpu) {
    return reinterpret_cast<cpu_state*>(mapping_.data())[cpu];
  }

  Mapping mapping_;
  uint32_t cpus_;
};

// Returns how many events a CPU dropped since the last call. The reported numbers are stored with
// the counters, so a daemon that adopts them continues where the last one ended. Used by one
// thread.
class LossTracker {
 public:
  LossTracker(Counters& counters, uint32_t cpu) : counters_(&counters), cpu_(cpu) {}

  // Losses since the last call, by event; empty when there were none.
  [[nodiscard]] std::vector<Lost> unreported();

 private:
  Counters* counters_;
  uint32_t cpu_;
  uint64_t total_ = 0;
};

}  // namespace ktraced
