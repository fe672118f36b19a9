// SPDX-License-Identifier: BSD-2-Clause
// What the tracer tells about itself: the methods `status` and `events.list`.
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
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

// Adds what was counted while the event was defined otherwise.
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

json Tracer::filter_loan() const {
  if (!loan_) return nullptr;
  json lasting = filter_to_json(loan_->lasting);
  return {{"pid", loan_->borrower.pid}, {"uid", loan_->borrower.uid}, {"before", lasting}};
}

json Tracer::flight_status(const FlightRecorder::Reach& reach) const {
  const uint64_t now = boottime_ns();
  return {{"enabled", flight_.enabled()},
          {"bytes", flight_.memory()},
          {"since_ns", reach.since_ns},
          {"reach_ns", reach.since_ns == 0 ? 0 : now - std::min(now, reach.since_ns)}};
}

// Thousands may have been defined, and to ask for the misses of one takes a system call.
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
    // Dynamic events that were used once are not worth a line for ever.
    if (is_dynamic(event) && hits == 0 && !status["enabled"].get<bool>()) continue;
    if (auto earlier = events.find(event.name); earlier != events.end())
      add_counts(*earlier, status);
    events[event.name] = std::move(status);
  }
  json filter = filter_to_json(filters_.current());
  filter.erase("syscall");
  filter["syscalls_only"] = filters_.current().syscall;
  filter["follow_lost"] = filters_.follow_lost();
  filter["on_loan"] = filter_loan();
  return {{"state", paused_ ? "paused" : "running"},
          {"version", KTRACED_VERSION},
          {"pid", ::getpid()},
          {"kernel", kernel_release_},
          {"events", std::move(events)},
          {"totals", std::move(totals)},
          {"stream", stream_status()},
          {"flight", flight_status(reach)},
          {"persistent", unpinned_because_.empty()},
          {"filter", std::move(filter)}};
}

json Tracer::list_entry(const Event& event) const {
  const std::string* reason = why_unavailable(event.name);
  json entry = event_to_json(event);
  entry["available"] = reason == nullptr;
  entry["enabled"] = reason == nullptr && enabled_.contains(event.name);
  if (reason != nullptr) entry["reason"] = *reason;
  return entry;
}

Result<json> Tracer::events(const std::vector<std::string>& patterns) const {
  json list = json::array();
  for (const Event& event : schema_.events())
    if (!is_dynamic(event) || (enabled_.contains(event.name) && schema_.find(event.name) == &event))
      list.push_back(list_entry(event));
  std::set<std::string> names;
  for (const std::string& pattern : patterns) {
    auto found = tracepoints_meant(pattern);
    if (!found) return pass_on(found);
    names.insert(found->begin(), found->end());
  }
  for (const std::string& name : names) {
    if (enabled_.contains(name)) continue;
    if (auto format = tracepoints_.format(name); format)
      list.push_back(list_entry(format->event));
    else
      list.push_back({{"name", name},
                      {"group", name.substr(0, name.find(':'))},
                      {"enabled", false},
                      {"available", false},
                      {"reason", format.error().message}});
  }
  return json{{"events", std::move(list)}};
}

}  // namespace ktraced
