// What the tracer tells about itself: the methods `status` and `events.list`.
#include <unistd.h>

#include "daemon/config.h"
#include "daemon/tracer.h"
#include "schema/schema_json.h"

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

}  // namespace

json Tracer::event_status(const Event& event, uint64_t overwritten) const {
  const std::string* reason = why_unavailable(event.name);
  const auto baseline = baselines_.find(event.id);
  EventCounts sum;
  json per_cpu = json::array();
  for (uint32_t cpu = 0; cpu < counters_.cpus(); ++cpu) {
    EventCounts counts = counters_.of(cpu, event.id);
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
  status["attached"] = object_.attached(event.name);
  status["missed"] =
      object_.missed(event.name) - (baseline != baselines_.end() ? baseline->second.missed : 0);
  // Reading a ring that is written to can miss some for a moment: never less than nothing.
  const uint64_t before = baseline != baselines_.end() ? baseline->second.overwritten : 0;
  status["overwritten"] = overwritten > before ? overwritten - before : 0;
  status["per_cpu"] = std::move(per_cpu);
  return status;
}

json Tracer::stream_status() const {
  json cpus = json::array();
  for (const auto& [cpu, ring] : rings_.rings()) {
    // Consumed first: it never overtakes what is read as produced afterwards.
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

json Tracer::status() const {
  json events = json::object();
  json totals = {
      {"recorded", 0U}, {"filtered", 0U}, {"dropped", 0U}, {"missed", 0U}, {"overwritten", 0U}};
  const std::vector<uint64_t> overwritten = flight_.overwritten();
  for (const Event& event : schema_.events()) {
    json status = event_status(event, overwritten[event.id]);
    for (auto& [name, sum] : totals.items())
      sum = sum.get<uint64_t>() + status[name].get<uint64_t>();
    events[event.name] = std::move(status);
  }
  json filter = filter_to_json(filters_.current());
  filter.erase("syscall");
  filter["syscalls_only"] = filters_.current().syscall;
  filter["follow_lost"] = filters_.follow_lost();
  return {{"state", paused_ ? "paused" : "running"},
          {"version", KTRACED_VERSION},
          {"pid", ::getpid()},
          {"kernel", kernel_release_},
          {"events", std::move(events)},
          {"totals", std::move(totals)},
          {"stream", stream_status()},
          {"flight", {{"enabled", flight_.enabled()}, {"bytes", flight_.memory()}}},
          {"persistent", unpinned_because_.empty()},
          {"filter", std::move(filter)}};
}

json Tracer::events() const {
  json schema = schema_to_json(schema_);
  json list = json::array();
  for (json& event : schema["events"]) {
    const std::string name = event["name"];
    const std::string* reason = why_unavailable(name);
    event["available"] = reason == nullptr;
    event["enabled"] = reason == nullptr && enabled_.contains(name);
    if (reason != nullptr) event["reason"] = *reason;
    list.push_back(std::move(event));
  }
  return {{"events", std::move(list)}};
}

}  // namespace ktraced
