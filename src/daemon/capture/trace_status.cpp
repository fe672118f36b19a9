// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/trace_status.h"

#include <utility>

#include "daemon/sessions/call_place.h"
#include "daemon/sessions/session_rules.h"

namespace ktraced {
namespace {

using ByName = std::map<std::string, EventStatus>;

// Adds an event. Its counts include those of the event's earlier definitions.
void add(ByName& events, const std::string& name, EventStatus event) {
  if (auto earlier = events.find(name); earlier != events.end())
    event.counters += earlier->second.counters;
  events[name] = std::move(event);
}

}  // namespace

EventTotals& EventTotals::operator+=(const EventTotals& other) {
  recorder += other.recorder;
  output += other.output;
  clients += other.clients;
  return *this;
}

bool StatusReader::attached_at_functions(const Session& session, const Event& event) const {
  return call_place(event.id) != 0 && calls_.attached(session);
}

EventStatus StatusReader::status(const Session& session, const Event& event,
                                 SessionAccounts::Reading reading) const {
  const std::string* reason = availability_.why_not(event.name);
  EventStatus status{.enabled = events_of(sessions_, session).contains(event.name) &&
                                may_record(session, event.name) && reason == nullptr,
                     .attached = catalog_.attached(event) || attached_at_functions(session, event),
                     .reason = reason == nullptr ? std::nullopt : std::optional(*reason),
                     .counters = reading.counters,
                     .ignored = accounts_.ignored(event),
                     .per_cpu = {}};
  for (uint32_t cpu = 0; cpu < reading.per_cpu.size(); ++cpu)
    if (rings_.cpus().contains(cpu) || reading.per_cpu[cpu] != EventCounts{})
      status.per_cpu.push_back({.cpu = cpu, .counts = reading.per_cpu[cpu]});
  return status;
}

EventStatus StatusReader::of(const Event& event, uint64_t overwritten) const {
  const Session& recorder = sessions_.recorder();
  return status(recorder, event,
                recorder.since_ns != 0 ? accounts_.read(SESSION_RECORDER, event, overwritten)
                                       : accounts_.read_sum(SESSION_OUTPUT, SESSIONS_MAX, event));
}

StatusReader::Overwritten StatusReader::overwritten() const {
  return rings_.flight().enabled() ? rings_.flight().reach().overwritten
                                   : Overwritten(EVENT_ID_MAX);
}

SessionStatus StatusReader::of(const Session& session) const {
  return of(session, session.is_recorder() ? overwritten() : Overwritten(EVENT_ID_MAX));
}

std::vector<SessionStatus> StatusReader::sessions() const { return sessions(overwritten()); }

std::vector<SessionStatus> StatusReader::sessions(const Overwritten& overwritten) const {
  std::vector<SessionStatus> list;
  for (const Session& session : sessions_.all())
    if (session.has_sink)
      list.push_back(of(session, session.is_recorder() ? overwritten : Overwritten(EVENT_ID_MAX)));
  return list;
}

SessionStatus StatusReader::of(const Session& session, const Overwritten& overwritten) const {
  using State = SessionStatus::State;
  SessionStatus out{.name = session.name,
                    .owner = session.owner,
                    .since_ns = session.since_ns,
                    .state = !session.has_sink             ? State::off
                             : records(sessions_, session) ? State::recording
                                                           : State::paused,
                    .own_events = session.own_events.has_value(),
                    .own_filter = session.own_filter.tasks.has_value(),
                    .event_names = events_of(sessions_, session),
                    .stacks = stacks_of(sessions_, session),
                    .filter = filter_of(sessions_, session),
                    .calls_at_functions = (calls_.sessions() & session.bit()) != 0,
                    .calls_at_tracepoints = calls_.why_not(session),
                    .ring_bytes = session.ring_bytes,
                    .rings = {},
                    .events = {},
                    .totals = {}};
  std::erase_if(out.event_names,
                [&](const std::string& name) { return !may_record(session, name); });
  std::erase_if(out.stacks, [&](const std::string& name) {
    return !out.event_names.contains(name) || stacks_.refused().contains(name);
  });
  if (const StreamRings* rings = control_.drain().rings(session.number))
    for (const auto& [cpu, ring] : rings->rings()) {
      // Read `consumed` first, so that it never exceeds `produced`.
      const uint64_t consumed = ring.consumed();
      out.rings.push_back({.cpu = cpu,
                           .ring_bytes = ring.size(),
                           .consumed = consumed,
                           .produced = ring.produced()});
    }
  for (const Event& event : catalog_.schema().events()) {
    if (is_unused(event)) continue;
    EventStatus now =
        status(session, event, accounts_.read(session.number, event, overwritten[event.id]));
    if (!now.counters.any()) continue;
    out.totals += now.counters;
    add(out.events, event.name, std::move(now));
  }
  return out;
}

StreamStatus StatusReader::stream() const {
  return {.max_latency_ms = control_.drain().max_latency(),
          .realtime = control_.drain().realtime(),
          .late_records = control_.drain().late_records(),
          .names_dropped = rings_.counters().names_dropped(),
          .total_bytes = control_.used_bytes()};
}

// Thousands of events may be defined, and reading the misses of one takes a system call.
bool StatusReader::is_unused(const Event& event) const {
  return is_dynamic(event) && recording(sessions_, event.name) == 0 &&
         !events_of(sessions_, sessions_.recorder()).contains(event.name) &&
         !catalog_.dynamic().loaded(event.id) && !accounts_.any_hit(event);
}

std::map<std::string, EventTotals> StatusReader::totals() const {
  std::map<std::string, EventTotals> totals;
  const Overwritten overwritten = this->overwritten();
  for (const Event& event : catalog_.schema().events()) {
    if (is_unused(event)) continue;
    totals[event.name] +=
        {.recorder = accounts_.read(SESSION_RECORDER, event, overwritten[event.id]).counters,
         .output = accounts_.read_sum(SESSION_OUTPUT, SESSION_CLIENT_FIRST, event).counters,
         .clients = accounts_.read_sum(SESSION_CLIENT_FIRST, SESSIONS_MAX, event).counters};
  }
  return totals;
}

std::optional<SamplingStatus> StatusReader::sampling() const {
  if (!stacks_.attached(kSampleEvent)) return std::nullopt;
  const Counters& counters = rings_.counters();
  SamplingStatus sampling{.config = stacks_.describe_sampling(),
                          .missing = counters.samples_missing(),
                          .max_rate = max_sample_rate()};
  for (uint32_t cpu = 0; cpu < counters.cpus(); ++cpu)
    for (uint32_t counter = 0; counter < WAY_COUNTERS; ++counter)
      sampling.samples += counters.hits(cpu, counter, stack_place(EVENT_cpu_sample));
  return sampling;
}

TraceStatus StatusReader::read() const {
  TraceStatus status;
  std::vector<std::string> built_in;
  const FlightRecorder& flight = rings_.flight();
  const FlightRecorder::Reach reach = flight.reach();
  for (const Event& event : catalog_.schema().events()) {
    if (!is_dynamic(event)) built_in.push_back(event.name);
    if (is_unused(event)) continue;
    EventStatus now = of(event, reach.overwritten[event.id]);
    status.totals += now.counters;
    // Unused dynamic events are left out of the status.
    if (is_dynamic(event) && !now.counters.any() && !now.enabled) continue;
    add(status.events, event.name, std::move(now));
  }
  status.stream = stream();
  status.sessions = sessions(reach.overwritten);
  status.flight = {
      .enabled = flight.enabled(), .bytes = flight.memory(), .since_ns = reach.since_ns};
  status.stacks = {
      .bytes = stacks_.memory(), .depth = stacks_.depth(), .kernel_depth = stacks_.kernel_depth()};
  status.sampling = sampling();
  status.unavailable_helpers = unavailable_helpers(availability_, built_in);
  for (const auto& [event, reason] : stacks_.refused())
    status.unavailable_helpers.push_back({.program = event + " with stacks",
                                          .reason = reason,
                                          .effect = event + " is recorded without stacks"});
  return status;
}

}  // namespace ktraced
