// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/rates/reading.h"

#include <fmt/format.h>

#include "base/text/json_access.h"

namespace ktraced {
namespace {

using nlohmann::json;

HitCounts hits_of(const json& counts) {
  return {.recorded = number_at(counts, "recorded"),
          .filtered = number_at(counts, "filtered"),
          .dropped = number_at(counts, "dropped"),
          .missed = number_at(counts, "missed")};
}

bool has_hits(const HitCounts& hits) {
  return (hits.recorded | hits.filtered | hits.dropped | hits.missed) != 0;
}

std::string sink_of(const json& session, bool flight) {
  const std::string name = text_at(session, "name");
  if (name == "recorder") return flight ? "flight recorder" : "none";
  return number_at(session, "pid") == 0 ? "files" : "client";
}

SessionReading session_of(const json& session, bool flight) {
  const uint64_t pid = number_at(session, "pid");
  return {.name = text_at(session, "name"),
          .owner =
              pid == 0 ? "ktraced" : fmt::format("pid {} (uid {})", pid, number_at(session, "uid")),
          .sink = sink_of(session, flight),
          .state = text_at(session, "state"),
          .counts = hits_of(member(session, "totals"))};
}

}  // namespace

const json& snapshot_before_history(const json& flight) {
  static const json kNone;
  const json& last = member(flight, "last_snapshot");
  const uint64_t end = number_at(last, "end_ns");
  return end != 0 && end == number_at(flight, "since_ns") ? last : kNone;
}

Reading reading_of(const json& status, uint64_t at_ns) {
  const json& flight = member(status, "flight");
  Reading reading{.at_ns = at_ns,
                  .version = text_at(status, "version"),
                  .kernel = text_at(status, "kernel"),
                  .state = text_at(status, "state"),
                  .events = {},
                  .totals = hits_of(member(status, "totals")),
                  .sessions = {},
                  .flight = flag_at(flight, "enabled"),
                  .flight_reach_ns = number_at(flight, "reach_ns"),
                  .flight_saved_in = text_at(snapshot_before_history(flight), "name")};
  for (const auto& [name, event] : member(status, "events").items())
    if (const HitCounts hits = hits_of(event); flag_at(event, "enabled") || has_hits(hits))
      reading.events.emplace(name, hits);
  for (const json& session : list_at(status, "sessions"))
    reading.sessions.push_back(session_of(session, reading.flight));
  return reading;
}

}  // namespace ktraced
