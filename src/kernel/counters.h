// What the programs counted, read from memory shared with the kernel.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/mapping.h"
#include "bpf/shared_state.h"
#include "kernel/bpf_object.h"
#include "trace/packet.h"

namespace ktraced {

// Counts of one event. The kernel counts misses for all CPUs together.
struct EventCounts {
  uint64_t recorded = 0;
  uint64_t filtered = 0;
  uint64_t dropped = 0;

  EventCounts& operator+=(const EventCounts& other);
};

// The per-CPU counters. Reading costs no system call and may be done on any thread.
class Counters {
 public:
  // Fails with ExitCode::os.
  static Result<Counters> open(const BpfObject& object);

  [[nodiscard]] uint32_t cpus() const { return cpus_; }
  [[nodiscard]] EventCounts of(uint32_t cpu, uint16_t event) const;
  [[nodiscard]] uint64_t dropped_total(uint32_t cpu) const;
  [[nodiscard]] uint64_t names_dropped() const;

 private:
  Counters(Mapping mapping, uint32_t cpus) : mapping_(std::move(mapping)), cpus_(cpus) {}
  [[nodiscard]] const cpu_state& state(uint32_t cpu) const {
    return reinterpret_cast<const cpu_state*>(mapping_.data())[cpu];
  }

  Mapping mapping_;
  uint32_t cpus_;
};

// Tells how many events a CPU dropped since it was last asked. Used by one thread.
class LossTracker {
 public:
  // What was dropped before is no news.
  LossTracker(const Counters& counters, uint32_t cpu);

  // Losses since construction or the last call, by event; empty when there were none.
  [[nodiscard]] std::vector<Lost> news();

 private:
  const Counters* counters_;
  uint32_t cpu_;
  uint64_t total_ = 0;
  std::map<uint32_t, uint64_t> dropped_;  // event id → drops told; most events never drop
};

}  // namespace ktraced
