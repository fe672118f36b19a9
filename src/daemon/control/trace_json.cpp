// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/control/trace_json.h"

#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "daemon/config/config.h"
#include "daemon/sessions/session_rules.h"
#include "schema/schema_json.h"
#include "trace/packet/protocol_version.h"

namespace ktraced {
namespace {

using nlohmann::json;

json counts_json(const EventCounts& counts) {
  return {
      {"recorded", counts.recorded}, {"filtered", counts.filtered}, {"dropped", counts.dropped}};
}

json counters_json(const EventCounters& counters) {
  json out = counts_json(counters.counts);
  out["missed"] = counters.missed;
  out["overwritten"] = counters.overwritten;
  return out;
}

json event_json(const EventStatus& event) {
  json out = counters_json(event.counters);
  out["ignored"] = event.ignored;
  out["enabled"] = event.enabled;
  out["available"] = !event.reason;
  if (event.reason) out["reason"] = *event.reason;
  out["attached"] = event.attached;
  json per_cpu = json::array();
  for (const auto& [cpu, counts] : event.per_cpu) {
    json entry = counts_json(counts);
    entry["cpu"] = cpu;
    per_cpu.push_back(std::move(entry));
  }
  out["per_cpu"] = std::move(per_cpu);
  return out;
}

json rings_json(const std::vector<StreamRingStatus>& rings) {
  json cpus = json::array();
  for (const StreamRingStatus& ring : rings)
    cpus.push_back({{"cpu", ring.cpu},
                    {"ring_bytes", ring.ring_bytes},
                    {"consumed", ring.consumed},
                    {"produced", ring.produced}});
  return cpus;
}

json stream_json(const StreamStatus& stream) {
  return {{"max_latency_ms", stream.max_latency_ms},
          {"realtime", stream.realtime},
          {"late_records", stream.late_records},
          {"names_dropped", stream.names_dropped},
          {"total_bytes", stream.total_bytes}};
}

json flight_json(const FlightStatus& flight) {
  const uint64_t now = boottime_ns();
  return {{"enabled", flight.enabled},
          {"bytes", flight.bytes},
          {"since_ns", flight.since_ns},
          {"reach_ns", flight.since_ns == 0 ? 0 : now - std::min(now, flight.since_ns)}};
}

json stacks_json(const StackStatus& stacks) {
  return {{"bytes", stacks.bytes}, {"depth", stacks.depth}, {"kernel_depth", stacks.kernel_depth}};
}

json sampling_json(const std::optional<SamplingStatus>& sampling) {
  if (!sampling) return {{"enabled", false}};
  json out = sampling->config;
  out["enabled"] = true;
  out["samples"] = sampling->samples;
  out["missing"] = sampling->missing;
  out["max_rate"] = sampling->max_rate == 0 ? json() : json(sampling->max_rate);
  return out;
}

json filter_status_json(const TracerParts& tracer) {
  const FilterSettings current = filter_of(tracer.sessions, tracer.sessions.recorder());
  json filter = filter_to_json(current);
  filter.erase("syscall");
  filter["syscalls_only"] = current.syscall;
  filter["follow_lost"] = tracer.filters.follow_lost();
  return filter;
}

json catchers_json(const TracerParts& tracer) {
  json catchers = json::object();
  for (const std::string& name : tracer.catchers.used())
    if (const Event* event = tracer.schema.find(name))
      catchers[name] = {{"attached", tracer.catchers.attached(name)},
                        {"caught", tracer.catchers.caught(event->id)},
                        {"left", tracer.catchers.left(event->id)}};
  return catchers;
}

json unknown_json(const KernelFeatures& features) {
  json list = json::array();
  for (const auto& [what, reason] : features.unknown)
    list.push_back({{"what", what}, {"reason", reason}});
  return list;
}

json helpers_json(const std::vector<UnavailableHelper>& helpers) {
  json list = json::array();
  for (const auto& [program, reason, effect] : helpers)
    list.push_back({{"program", program}, {"reason", reason}, {"effect", effect}});
  return list;
}

json replaced_json(const std::vector<ReplacedObject>& replaced) {
  json list = json::array();
  for (const auto& [id, reason, since_ns, until_ns] : replaced)
    if (since_ns != 0)
      list.push_back(
          {{"object", id}, {"reason", reason}, {"since_ns", since_ns}, {"until_ns", until_ns}});
  return list;
}

const char* text_of(SessionStatus::State state) {
  switch (state) {
    case SessionStatus::State::off:
      return "off";
    case SessionStatus::State::recording:
      return "recording";
    case SessionStatus::State::paused:
      return "paused";
  }
  return "";
}

}  // namespace

json status_json(const TracerParts& tracer) {
  const TraceStatus status = tracer.status.read();
  json events = json::object();
  for (const auto& [name, event] : status.events) events[name] = event_json(event);
  return {{"state", tracer.sessions.recorder().paused ? "paused" : "running"},
          {"version", KTRACED_VERSION},
          {"protocol", kProtocolVersion},
          {"pid", ::getpid()},
          {"kernel", tracer.metadata.kernel_release()},
          {"events", std::move(events)},
          {"unknown", unknown_json(tracer.features)},
          {"unavailable_helpers", helpers_json(status.unavailable_helpers)},
          {"totals", counters_json(status.totals)},
          {"stream", stream_json(status.stream)},
          {"sessions", sessions_json(status.sessions)},
          {"flight", flight_json(status.flight)},
          {"stacks", stacks_json(status.stacks)},
          {"sampling", sampling_json(status.sampling)},
          {"catchers", catchers_json(tracer)},
          {"persistent", tracer.persistent},
          {"replaced", replaced_json(tracer.replaced)},
          {"filter", filter_status_json(tracer)}};
}

json session_json(const SessionStatus& status, bool counts) {
  const uint64_t now = boottime_ns();
  json out = {{"name", status.name},
              {"pid", status.owner.pid},
              {"uid", status.owner.uid},
              {"age_ns", status.since_ns == 0 ? 0 : now - std::min(now, status.since_ns)},
              {"state", text_of(status.state)},
              {"own_events", status.own_events},
              {"own_filter", status.own_filter},
              {"events", status.event_names},
              {"filter", filter_to_json(status.filter)},
              {"ring_bytes", status.ring_bytes},
              {"rings", rings_json(status.rings)},
              {"totals", counters_json(status.totals)}};
  if (!status.stacks.empty()) out["stacks"] = status.stacks;
  if (status.calls_at_functions) out["calls"] = {{"at", "functions"}};
  if (status.calls_at_tracepoints)
    out["calls"] = {{"at", "tracepoints"}, {"reason", *status.calls_at_tracepoints}};
  if (!counts) return out;
  json events = json::object();
  for (const auto& [name, event] : status.events) events[name] = event_json(event);
  out["counts"] = std::move(events);
  return out;
}

json sessions_json(const std::vector<SessionStatus>& sessions) {
  json list = json::array();
  for (const SessionStatus& session : sessions) list.push_back(session_json(session, false));
  return list;
}

json probe_json(const TracerParts& tracer, const ProbeInfo& probe) {
  json out = {{"definition", probe.definition},
              {"event", probe.event},
              {"configured", probe.configured},
              {"available", probe.available()}};
  if (!probe.note.empty()) out["note"] = probe.note;
  if (!probe.reason.empty()) out["reason"] = probe.reason;
  const Event* event = probe.id == 0 ? nullptr : tracer.schema.find(probe.id);
  if (event == nullptr) return out;
  const EventStatus status = tracer.status.of(*event);
  const EventCounts& counts = status.counters.counts;
  out["id"] = event->id;
  out["enabled"] = status.enabled;
  out["attached"] = status.attached;
  out["hits"] = counts.recorded + counts.filtered + counts.dropped;
  out["missed"] = status.counters.missed;
  out["misses_known"] = probe.misses_known;
  if (!probe.skipped.empty()) out["skipped"] = probe.skipped;
  return out;
}

json probes_json(const TracerParts& tracer) {
  json list = json::array();
  for (const ProbeInfo& probe : tracer.probes.list()) list.push_back(probe_json(tracer, probe));
  json out = {{"probes", std::move(list)}};
  if (const std::string reason = Probes::unavailable(); !reason.empty()) out["reason"] = reason;
  return out;
}

json listed_event_json(const ListedEvent& listed) {
  json entry = listed.event != nullptr ? event_to_json(*listed.event)
                                       : json{{"name", listed.name}, {"group", listed.group}};
  entry["available"] = !listed.reason;
  entry["enabled"] = listed.enabled;
  if (listed.reason) entry["reason"] = *listed.reason;
  return entry;
}

}  // namespace ktraced
