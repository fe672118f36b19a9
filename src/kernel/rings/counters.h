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

// Events lost, by CPU.
using LostByCpu = std::map<uint32_t, std::vector<Lost>>;

// The per-CPU counters. Reading costs no system call and may be done on any thread.
class Counters {
 public:
  // What a session did with hits of one event on one CPU. See struct session_counters.
  struct Stored {
    uint64_t recorded = 0;  // the recorder: without what it stored directly
    uint64_t dropped = 0;
  };

  // Fails with ExitCode::os.
  static Result<Counters> open(const BpfObject& object);

  [[nodiscard]] uint32_t cpus() const { return cpus_; }
  // Hits counted by one of WAY_COUNTERS counters.
  [[nodiscard]] uint64_t hits(uint32_t cpu, uint32_t counter, uint16_t event) const;
  [[nodiscard]] Stored of(uint32_t session, uint32_t cpu, uint16_t event) const;

  // Records that were counted by flight rings which have been released.
  [[nodiscard]] uint64_t released(uint32_t cpu, uint16_t event) const;
  // Adds the count of a flight ring that is being released.
  void add_released(uint32_t cpu, uint16_t event, uint64_t records);

  [[nodiscard]] uint64_t dropped_total(uint32_t session, uint32_t cpu) const;
  [[nodiscard]] uint64_t names_dropped() const;
  // Periods in which no sample was taken, between two samples; sum of all CPUs.
  [[nodiscard]] uint64_t samples_missing() const;
  // Hits of one CPU, by event, for which the flight recorder had no ring and that no snapshot has
  // reported yet.
  [[nodiscard]] std::vector<Lost> flight_drops(uint32_t cpu) const;
  // A snapshot has reported these. For one thread.
  void report_flight_drops(uint32_t cpu, std::span<const Lost> lost);
  // The reader of the session's stream rings lacks the stacks that were written so far, or its
  // rings are new: from now on programs write each stack again. Thread-safe.
  void restart_stacks(uint32_t session);
  // Drops reported to readers; see LossTracker.
  [[nodiscard]] u64& reported(uint32_t session, uint32_t cpu, uint16_t event) {
    return state(session, cpu).events[event].reported;
  }

 private:
  Counters(Mapping cpu_states, Mapping session_states, uint32_t cpus)
      : cpu_states_(std::move(cpu_states)),
        session_states_(std::move(session_states)),
        cpus_(cpus) {}
  [[nodiscard]] cpu_state& state(uint32_t cpu) const {
    return reinterpret_cast<cpu_state*>(cpu_states_.data())[cpu];
  }
  [[nodiscard]] session_state& state(uint32_t session, uint32_t cpu) const {
    return reinterpret_cast<session_state*>(session_states_.data())[session * cpus_ + cpu];
  }

  Mapping cpu_states_;
  Mapping session_states_;
  uint32_t cpus_;
};

// Returns how many events a session dropped on a CPU since the last call. The reported numbers are
// stored with the counters, so a daemon that adopts them continues where the last one ended. Used
// by one thread.
class LossTracker {
 public:
  LossTracker(Counters& counters, uint32_t session, uint32_t cpu)
      : counters_(&counters), session_(session), cpu_(cpu) {}

  // Losses since the last call, by event; empty when there were none.
  [[nodiscard]] std::vector<Lost> unreported();

 private:
  Counters* counters_;
  uint32_t session_;
  uint32_t cpu_;
  uint64_t total_ = 0;
};

}  // namespace ktraced
