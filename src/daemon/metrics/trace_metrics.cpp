// SPDX-License-Identifier: BSD-2-Clause
// The metrics of events, sessions and rings.
#include <algorithm>
#include <array>

#include "daemon/metrics/metrics_reading.h"

namespace ktraced {
namespace {

// The names that the daemon gives to its own sessions.
constexpr std::array<std::string_view, 3> kKinds = {"recorder", "output", "client"};
constexpr std::array<std::string_view, 3> kStates = {"recording", "paused", "off"};

void add_outcomes(Exposition& out, std::string_view event, std::string_view kind,
                  const EventCounters& counters) {
  if (!counters.any()) return;
  const auto add = [&](std::string_view outcome, uint64_t hits) {
    out.sample(hits, {{"event", event}, {"session", kind}, {"outcome", outcome}});
  };
  add("recorded", counters.counts.recorded);
  add("filtered", counters.counts.filtered);
  add("dropped", counters.counts.dropped);
  add("missed", counters.missed);
}

std::string_view kind_of(const SessionStatus& session) {
  if (session.owner.pid != 0) return kKinds[2];
  return session.name == kKinds[0] ? kKinds[0] : kKinds[1];
}

std::string_view state_of(const SessionStatus& session) {
  switch (session.state) {
    case SessionStatus::State::recording:
      return kStates[0];
    case SessionStatus::State::paused:
      return kStates[1];
    case SessionStatus::State::off:
      break;
  }
  return kStates[2];
}

void add_session_metrics(Exposition& out, const std::vector<SessionStatus>& sessions) {
  out.gauge("ktraced_sessions", "Sessions that record into a sink, by kind and state.");
  for (const std::string_view kind : kKinds)
    for (const std::string_view state : kStates)
      out.sample(std::ranges::count_if(sessions,
                                       [&](const SessionStatus& session) {
                                         return kind_of(session) == kind &&
                                                state_of(session) == state;
                                       }),
                 {{"session", kind}, {"state", state}});
}

// The fullest ring of a kind of session, and all bytes in them.
struct Unread {
  uint64_t bytes = 0;
  double fullest = 0;
};

Unread unread_of(const std::vector<SessionStatus>& sessions, std::string_view kind) {
  Unread unread;
  for (const SessionStatus& session : sessions) {
    if (kind_of(session) != kind) continue;
    for (const StreamRingStatus& ring : session.rings) {
      const uint64_t bytes = ring.produced - ring.consumed;
      unread.bytes += bytes;
      if (ring.ring_bytes != 0)
        unread.fullest = std::max(
            unread.fullest, static_cast<double>(bytes) / static_cast<double>(ring.ring_bytes));
    }
  }
  return unread;
}

void add_stream_metrics(Exposition& out, const MetricsReading& reading) {
  const TraceStatus& trace = reading.trace;
  out.gauge("ktraced_stream_rings_bytes", "Memory of the stream rings of all sessions.")
      .sample(trace.stream.total_bytes);
  out.gauge("ktraced_stream_unread_bytes", "Bytes in stream rings that the daemon has not read.");
  for (const std::string_view kind : {kKinds[1], kKinds[2]})
    out.sample(unread_of(trace.sessions, kind).bytes, {{"session", kind}});
  out.gauge("ktraced_stream_fullest_ring_ratio",
            "How full the fullest stream ring is, from 0 to 1. A full ring drops events.");
  for (const std::string_view kind : {kKinds[1], kKinds[2]})
    out.sample(unread_of(trace.sessions, kind).fullest, {{"session", kind}});
  out.counter("ktraced_stream_late_records_total",
              "Records that reached a stream ring so late that their time was changed.")
      .sample(trace.stream.late_records);
  out.counter("ktraced_metadata_dropped_total",
              "Records on names of threads and the like for which the kernel had no room.")
      .sample(trace.stream.names_dropped);
  out.counter("ktraced_follow_lost_total", "Processes that could not be followed by a filter.")
      .sample(reading.follow_lost);
}

}  // namespace

void add_event_metrics(Exposition& out, const MetricsReading& reading) {
  out.counter("ktraced_events_total",
              "Hits of an event while it was on, by kind of session and outcome. Their sum is the "
              "number of hits.");
  for (const auto& [event, totals] : reading.events) {
    add_outcomes(out, event, kKinds[0], totals.recorder);
    add_outcomes(out, event, kKinds[1], totals.output);
    add_outcomes(out, event, kKinds[2], totals.clients);
  }
  out.gauge("ktraced_event_enabled", "1 if the recorder records the event.");
  for (const auto& [event, status] : reading.trace.events)
    out.sample(status.enabled ? 1 : 0, {{"event", event}});
  out.gauge("ktraced_events_unavailable",
            "Events that this kernel does not support; 'ktracectl status -v' has the reasons.")
      .sample(std::ranges::count_if(
          reading.trace.events, [](const auto& entry) { return entry.second.reason.has_value(); }));
  out.gauge("ktraced_helpers_unavailable",
            "Programs for names, filters and missed hits that the kernel has refused; 'ktracectl "
            "status' has the reasons.")
      .sample(reading.trace.unavailable_helpers.size());
}

void add_ring_metrics(Exposition& out, const MetricsReading& reading) {
  const FlightStatus& flight = reading.trace.flight;
  add_session_metrics(out, reading.trace.sessions);
  out.gauge("ktraced_flight_enabled", "1 if the flight recorder is on.")
      .sample(flight.enabled ? 1 : 0);
  out.gauge("ktraced_flight_memory_bytes", "Memory of all banks of the flight recorder.")
      .sample(flight.bytes);
  out.gauge("ktraced_flight_ring_bytes", "Size of a flight ring: of each CPU and bank.")
      .sample(reading.snapshots.ring_bytes);
  out.gauge("ktraced_flight_banks", "Banks of the flight recorder.")
      .sample(reading.snapshots.banks);
  out.gauge("ktraced_flight_reach_seconds",
            "How far back the flight recorder has everything; 0: it has nothing.")
      .sample(
          flight.since_ns == 0
              ? 0.0
              : static_cast<double>(reading.now_ns - std::min(reading.now_ns, flight.since_ns)) /
                    1e9);
  out.gauge("ktraced_history_lost_seconds",
            "How long earlier daemons recorded what this one could not continue, except for what "
            "is on disk.")
      .sample(static_cast<double>(reading.history_lost_ns) / 1e9);
  out.gauge("ktraced_flight_overwritten_records",
            "Records of an event that newer ones have overwritten, since the last reset.");
  for (const auto& [event, totals] : reading.events)
    if (totals.recorder.overwritten != 0)
      out.sample(totals.recorder.overwritten, {{"event", event}});
  add_stream_metrics(out, reading);
}

}  // namespace ktraced
