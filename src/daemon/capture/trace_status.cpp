// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/trace_status.h"

namespace ktraced {

EventStatus StatusReader::of(const Event& event, uint64_t overwritten) const {
  const std::string* reason = availability_.why_not(event.name);
  EventAccounts::Reading reading = accounts_.read(event, overwritten);
  return {.enabled = enabled_.contains(event.name) && reason == nullptr,
          .attached = catalog_.attached(event),
          .reason = reason == nullptr ? std::nullopt : std::optional(*reason),
          .counters = reading.counters,
          .per_cpu = std::move(reading.per_cpu)};
}

StreamStatus StatusReader::stream() const {
  StreamStatus status{.on = stream_.on(),
                      .ring_bytes = rings_.stream().ring_bytes(),
                      .max_latency_ms = 0,  // of the configuration
                      .late_records = stream_.drain().late_records(),
                      .names_dropped = rings_.counters().names_dropped(),
                      .rings = {}};
  for (const auto& [cpu, ring] : rings_.stream().rings()) {
    // Read `consumed` first, so that it never exceeds `produced`.
    const uint64_t consumed = ring.consumed();
    status.rings.push_back(
        {.cpu = cpu, .ring_bytes = ring.size(), .consumed = consumed, .produced = ring.produced()});
  }
  return status;
}

// Thousands of events may be defined, and reading the misses of one takes a system call.
bool StatusReader::is_unused(const Event& event) const {
  return is_dynamic(event) && !enabled_.contains(event.name) &&
         !catalog_.dynamic().loaded(event.id) && !accounts_.any_hit(event);
}

TraceStatus StatusReader::read() const {
  TraceStatus status;
  const FlightRecorder& flight = rings_.flight();
  const FlightRecorder::Reach reach = flight.reach();
  for (const Event& event : catalog_.schema().events()) {
    if (is_unused(event)) continue;
    EventStatus now = of(event, reach.overwritten[event.id]);
    status.totals += now.counters;
    // Unused dynamic events are left out of the status.
    if (is_dynamic(event) && !now.counters.any() && !now.enabled) continue;
    // Includes what was counted under the event's earlier definitions.
    if (auto earlier = status.events.find(event.name); earlier != status.events.end())
      now.counters += earlier->second.counters;
    status.events[event.name] = std::move(now);
  }
  status.stream = stream();
  status.flight = {
      .enabled = flight.enabled(), .bytes = flight.memory(), .since_ns = reach.since_ns};
  return status;
}

}  // namespace ktraced
