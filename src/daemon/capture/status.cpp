// SPDX-License-Identifier: BSD-2-Clause
// What the tracer reports about itself: the method `status`.
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "daemon/capture/tracer.h"
#include "daemon/config/config.h"
#include "trace/packet/protocol_version.h"

namespace ktraced {
namespace {

using nlohmann::json;

EventCounts since(const EventCounts& now, const EventCounts& baseline) {
  return {.recorded = now.recorded - baseline.recorded,
          .filtered = now.filtered - baseline.filtered,
          .dropped = now.dropped - baseline.dropped};
}

json to_json(const EventCounts& counts) {
  return {
      {"recorded", counts.recorded}, {"filtered", counts.filtered}, {"dropped", counts.dropped}};
}

// Adds what was counted under the event's earlier definitions.
void add_counts(const json& earlier, json& now) {
  for (const char* name : {"recorded", "filtered", "dropped", "missed", "overwritten"})
    now[name] = now[name].get<uint64_t>() + earlier[name].get<uint64_t>();
}

}  // namespace

json Tracer::event_status(const Event& event, uint64_t overwritten) const {
  const std::string* reason = why_unavailable(event.name);
  const auto baseline = baselines_.find(event.id);
  EventCounts sum;
  json per_cpu = json::array();
  for (uint32_t cpu = 0; cpu < counters_.cpus(); ++cpu) {
    EventCounts counts = counts_of(cpu, event.id);
    if (baseline != baselines_.end()) counts = since(counts, baseline->second.per_cpu[cpu]);
    sum += counts;
    json entry = to_json(counts);
    entry["cpu"] = cpu;
    if (rings_.rings().contains(cpu) || counts.dropped != 0) per_cpu.push_back(std::move(entry));
  }
  json status = to_json(sum);
  status["enabled"] = enabled_.contains(event.name) && reason == nullptr;
  status["available"] = reason == nullptr;
  if (reason != nullptr) status["reason"] = *reason;
  status["attached"] =
      is_dynamic(event) ? dynamic_.attached(event.id) : object_.attached(event.name);
  status["missed"] = missed(event) - (baseline != baselines_.end() ? baseline->second.missed : 0);
  // A read of a ring that is being written can briefly be too low: never report less than zero.
  const uint64_t before = baseline != baselines_.end() ? baseline->second.overwritten : 0;
  status["overwritten"] = overwritten > before ? overwritten - before : 0;
  status["per_cpu"] = std::move(per_cpu);
  return status;
}

json Tracer::stream_status() const {
  json cpus = json::array();
  for (const auto& [cpu, ring] : rings_.rings()) {
    // Read `consumed` first, so that it never exceeds `produced`.
    const uint64_t consumed = ring.consumed();
    cpus.push_back({{"cpu", cpu},
                    {"ring_bytes", ring.size()},
                    {"consumed", consumed},
                    {"produced", ring.produced()}});
  }
  return {{"on", streaming_},
          {"ring_bytes", rings_.ring_bytes()},
          {"max_latency_ms", config_.stream.max_latency_ms},
          {"late_records", drain_->late_records()},
          {"names_dropped", counters_.names_dropped()},
          {"cpus", std::move(cpus)}};
}

json Tracer::temporary_filter() const {
  if (!temporary_) return nullptr;
  json lasting = filter_to_json(temporary_->lasting);
  return {{"pid", temporary_->owner.pid}, {"uid", temporary_->owner.uid}, {"before", lasting}};
}

json Tracer::flight_status(const FlightRecorder::Reach& reach) const {
  const uint64_t now = boottime_ns();
  return {{"enabled", flight_.enabled()},
          {"bytes", flight_.memory()},
          {"since_ns", reach.since_ns},
          {"reach_ns", reach.since_ns == 0 ? 0 : now - std::min(now, reach.since_ns)}};
}

// Thousands of events may be defined, and reading the misses of one takes a system call.
bool Tracer::is_unused(const Event& event) const {
  if (!is_dynamic(event) || enabled_.contains(event.name) || dynamic_.loaded(event.id))
    return false;
  for (uint32_t cpu = 0; cpu < counters_.cpus(); ++cpu)
    if (const EventCounts counts = counts_of(cpu, event.id);
        counts.recorded + counts.filtered + counts.dropped != 0)
      return false;
  return true;
}

json Tracer::status() const {
  json events = json::object();
  json totals = {
      {"recorded", 0U}, {"filtered", 0U}, {"dropped", 0U}, {"missed", 0U}, {"overwritten", 0U}};
  const FlightRecorder::Reach reach = flight_.reach();
  for (const Event& event : schema_.events()) {
    if (is_unused(event)) continue;
    json status = event_status(event, reach.overwritten[event.id]);
    uint64_t hits = 0;
    for (auto& [name, sum] : totals.items()) {
      hits += status[name].get<uint64_t>();
      sum = sum.get<uint64_t>() + status[name].get<uint64_t>();
    }
    // Unused dynamic events are left out of the status.
    if (is_dynamic(event) && hits == 0 && !status["enabled"].get<bool>()) continue;
    if (auto earlier = events.find(event.name); earlier != events.end())
      add_counts(*earlier, status);
    events[event.name] = std::move(status);
  }
  json filter = filter_to_json(filters_.current());
  filter.erase("syscall");
  filter["syscalls_only"] = filters_.current().syscall;
  filter["follow_lost"] = filters_.follow_lost();
  filter["temporary"] = temporary_filter();
  return {{"state", paused_ ? "paused" : "running"},
          {"version", KTRACED_VERSION},
          {"protocol", kProtocolVersion},
          {"pid", ::getpid()},
          {"kernel", kernel_release_},
          {"events", std::move(events)},
          {"totals", std::move(totals)},
          {"stream", stream_status()},
          {"flight", flight_status(reach)},
          {"persistent", unpinned_because_.empty()},
          {"filter", std::move(filter)}};
}

}  // namespace ktraced
