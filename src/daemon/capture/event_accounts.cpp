// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/event_accounts.h"

#include <algorithm>

namespace ktraced {

EventCounters& EventCounters::operator+=(const EventCounters& other) {
  counts += other.counts;
  missed += other.missed;
  overwritten += other.overwritten;
  return *this;
}

bool EventCounters::any() const {
  return counts.recorded + counts.filtered + counts.dropped + missed + overwritten != 0;
}

EventCounts EventAccounts::total(uint32_t cpu, uint16_t event) const {
  EventCounts counts = rings_.counters().of(cpu, event);
  counts.recorded += rings_.flight().recorded(cpu, event);
  return counts;
}

EventCounts EventAccounts::since_reset(uint32_t cpu, uint16_t event) const {
  EventCounts now = total(cpu, event);
  const auto found = baselines_.find(event);
  if (found == baselines_.end()) return now;
  const EventCounts& before = found->second.per_cpu[cpu];
  return {.recorded = now.recorded - before.recorded,
          .filtered = now.filtered - before.filtered,
          .dropped = now.dropped - before.dropped};
}

EventAccounts::Reading EventAccounts::read(const Event& event, uint64_t overwritten) const {
  Reading reading;
  EventCounters& out = reading.counters;
  for (uint32_t cpu = 0; cpu < rings_.counters().cpus(); ++cpu) {
    const EventCounts counts = since_reset(cpu, event.id);
    out.counts += counts;
    if (rings_.stream().rings().contains(cpu) || counts != EventCounts{})
      reading.per_cpu.push_back({.cpu = cpu, .counts = counts});
  }
  const auto found = baselines_.find(event.id);
  const Baseline* before = found == baselines_.end() ? nullptr : &found->second;
  out.missed = catalog_.missed(event) - (before != nullptr ? before->missed : 0);
  // A read of a ring that is being written can briefly be too low: never report less than zero.
  out.overwritten =
      overwritten - std::min(overwritten, before != nullptr ? before->overwritten : 0);
  return reading;
}

bool EventAccounts::any_hit(const Event& event) const {
  for (uint32_t cpu = 0; cpu < rings_.counters().cpus(); ++cpu)
    if (const EventCounts counts = total(cpu, event.id);
        counts.recorded + counts.filtered + counts.dropped != 0)
      return true;
  return false;
}

EventAccounts::Baseline EventAccounts::baseline(const Event& event, bool emptied,
                                                uint64_t overwritten) const {
  const FlightRecorder& flight = rings_.flight();
  Baseline baseline{.per_cpu = {}, .missed = catalog_.missed(event), .overwritten = overwritten};
  for (uint32_t cpu = 0; cpu < rings_.counters().cpus(); ++cpu) {
    EventCounts counts = rings_.counters().of(cpu, event.id);
    counts.recorded +=
        emptied ? flight.recorded_before(cpu, event.id) : flight.recorded(cpu, event.id);
    baseline.per_cpu.push_back(counts);
  }
  return baseline;
}

// Programs record during a reset. Records written after the flight recorder was emptied are in it,
// so they are counted.
Result<EventAccounts::Discarded> EventAccounts::reset(Drain& drain, bool keep_history) {
  Discarded discarded;
  const FlightRecorder& flight = rings_.flight();
  const bool empties = !keep_history && flight.enabled();
  if (empties) {
    auto history = rings_.empty_flight();
    if (!history) return propagate(history);
    discarded.history = *history;
  }
  discarded.unread = drain.discard();
  const std::vector<uint64_t> overwritten =
      empties ? flight.overwritten_before() : flight.reach().overwritten;
  for (const Event& event : catalog_.schema().events())
    baselines_[event.id] = baseline(event, empties, overwritten[event.id]);
  return discarded;
}

}  // namespace ktraced
