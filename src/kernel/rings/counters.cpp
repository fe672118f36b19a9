// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/counters.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

namespace ktraced {
namespace {

uint64_t load(const u64& counter) {
  return std::atomic_ref(const_cast<u64&>(counter)).load(std::memory_order_relaxed);
}

}  // namespace

EventCounts& EventCounts::operator+=(const EventCounts& other) {
  recorded += other.recorded;
  filtered += other.filtered;
  dropped += other.dropped;
  return *this;
}

Result<Counters> Counters::open(const BpfObject& object) {
  const uint32_t cpus = object.map_capacity("cpu_states");
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const size_t size = (cpus * sizeof(cpu_state) + page - 1) / page * page;
  auto mapping = Mapping::map(object.map_fd("cpu_states"), size, PROT_READ | PROT_WRITE);
  if (!mapping) return propagate(mapping);
  return Counters(std::move(*mapping), cpus);
}

EventCounts Counters::of(uint32_t cpu, uint16_t event) const {
  const event_counters& counters = state(cpu).events[event];
  return {.recorded = load(counters.recorded),
          .filtered = load(counters.filtered),
          .dropped = load(counters.dropped)};
}

void Counters::add_recorded(uint32_t cpu, uint16_t event, uint64_t records) {
  std::atomic_ref(state(cpu).events[event].recorded).fetch_add(records, std::memory_order_relaxed);
}

uint64_t Counters::dropped_total(uint32_t cpu) const { return load(state(cpu).dropped_total); }

uint64_t Counters::names_dropped() const {
  uint64_t sum = 0;
  for (uint32_t cpu = 0; cpu < cpus_; ++cpu) sum += load(state(cpu).names_dropped);
  return sum;
}

std::vector<Lost> Counters::flight_drops(uint32_t cpu) const {
  std::vector<Lost> lost;
  for (uint32_t event = 0; event < EVENT_ID_MAX; ++event) {
    const flight_drop& drop = state(cpu).flight_drops[event];
    const uint64_t count = load(drop.count);
    if (count != drop.reported)
      lost.push_back({.count = count - drop.reported, .event_id = event, .reserved = 0});
  }
  return lost;
}

void Counters::report_flight_drops(uint32_t cpu, std::span<const Lost> lost) {
  for (const Lost& each : lost) state(cpu).flight_drops[each.event_id].reported += each.count;
}

std::vector<Lost> LossTracker::unreported() {
  // dropped_total is incremented after dropped, so the reads below include every drop in the total.
  const uint64_t total = counters_->dropped_total(cpu_);
  std::atomic_thread_fence(std::memory_order_acquire);
  std::vector<Lost> lost;
  if (total == total_) return lost;
  total_ = 0;
  for (uint32_t event = 0; event < EVENT_ID_MAX; ++event) {
    const uint64_t dropped = counters_->of(cpu_, static_cast<uint16_t>(event)).dropped;
    u64& reported = counters_->reported(cpu_, static_cast<uint16_t>(event));
    if (dropped != reported)
      lost.push_back({.count = dropped - reported, .event_id = event, .reserved = 0});
    reported = dropped;
    total_ += dropped;
  }
  return lost;
}

}  // namespace ktraced
