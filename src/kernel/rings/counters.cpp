// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/counters.h"

#include <sys/mman.h>

#include <atomic>

#include "base/clock.h"

namespace ktraced {
namespace {

uint64_t load(const u64& counter) {
  return std::atomic_ref(const_cast<u64&>(counter)).load(std::memory_order_relaxed);
}

}  // namespace

Result<Counters> Counters::open(const BpfObject& object) {
  auto map = [&](const char* name, size_t size) {
    return Mapping::map(object.map_fd(name), size, PROT_READ | PROT_WRITE);
  };
  const uint32_t cpus = object.map_capacity("cpu_states");
  auto cpu_states = map("cpu_states", cpus * sizeof(cpu_state));
  if (!cpu_states) return propagate(cpu_states);
  auto session_states = map("session_states", size_t{SESSIONS_MAX} * cpus * sizeof(session_state));
  if (!session_states) return propagate(session_states);
  return Counters(std::move(*cpu_states), std::move(*session_states), cpus);
}

uint64_t Counters::hits(uint32_t cpu, uint32_t counter, uint16_t event) const {
  return load(state(cpu).hits[counter][event]);
}

Counters::Stored Counters::of(uint32_t session, uint32_t cpu, uint16_t event) const {
  const session_counters& counters = state(session, cpu).events[event];
  return {.recorded = load(counters.recorded), .dropped = load(counters.dropped)};
}

uint64_t Counters::released(uint32_t cpu, uint16_t event) const {
  return load(state(cpu).released[event]);
}

void Counters::add_released(uint32_t cpu, uint16_t event, uint64_t records) {
  std::atomic_ref(state(cpu).released[event]).fetch_add(records, std::memory_order_relaxed);
}

uint64_t Counters::dropped_total(uint32_t session, uint32_t cpu) const {
  return load(state(session, cpu).dropped_total);
}

void Counters::restart_stacks(uint32_t session) {
  const uint64_t now = boottime_ns();
  for (uint32_t cpu = 0; cpu < cpus_; ++cpu)
    std::atomic_ref(state(session, cpu).stacks_since).store(now, std::memory_order_relaxed);
}

uint64_t Counters::names_dropped() const {
  uint64_t sum = 0;
  for (uint32_t cpu = 0; cpu < cpus_; ++cpu) sum += load(state(cpu).names_dropped);
  return sum;
}

uint64_t Counters::samples_missing() const {
  uint64_t sum = 0;
  for (uint32_t cpu = 0; cpu < cpus_; ++cpu) sum += load(state(cpu).samples_missing);
  return sum;
}

std::vector<Lost> Counters::flight_drops(uint32_t cpu) const {
  std::vector<Lost> lost;
  for (uint32_t event = 0; event < EVENT_ID_MAX; ++event) {
    const session_counters& counters = state(SESSION_RECORDER, cpu).events[event];
    const uint64_t count = load(counters.dropped);
    if (count != counters.reported)
      lost.push_back({.count = count - counters.reported, .event_id = event, .reserved = 0});
  }
  return lost;
}

void Counters::report_flight_drops(uint32_t cpu, std::span<const Lost> lost) {
  for (const Lost& each : lost) reported(SESSION_RECORDER, cpu, each.event_id) += each.count;
}

std::vector<Lost> LossTracker::unreported() {
  // dropped_total is incremented after dropped, so the reads below include every drop in the total.
  const uint64_t total = counters_->dropped_total(session_, cpu_);
  std::atomic_thread_fence(std::memory_order_acquire);
  std::vector<Lost> lost;
  if (total == total_) return lost;
  total_ = 0;
  for (uint16_t event = 0; event < EVENT_ID_MAX; ++event) {
    const uint64_t dropped = counters_->of(session_, cpu_, event).dropped;
    u64& reported = counters_->reported(session_, cpu_, event);
    if (dropped != reported)
      lost.push_back({.count = dropped - reported, .event_id = event, .reserved = 0});
    reported = dropped;
    total_ += dropped;
  }
  return lost;
}

}  // namespace ktraced
