// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/rates/rates.h"

#include <algorithm>
#include <utility>

namespace ktraced {
namespace {

double rate(uint64_t before, uint64_t now, double seconds) {
  return static_cast<double>(now >= before ? now - before : now) / seconds;
}

// The session of the same name and owner; one that has begun since counts from zero.
HitCounts counts_before(const Reading& before, const SessionReading& session) {
  const auto found = std::ranges::find_if(before.sessions, [&](const SessionReading& other) {
    return other.name == session.name && other.owner == session.owner;
  });
  return found == before.sessions.end() ? HitCounts() : found->counts;
}

}  // namespace

double seconds_between(uint64_t since_ns, uint64_t until_ns) {
  constexpr double kShortest = 1e-3;
  const uint64_t ns = until_ns - std::min(until_ns, since_ns);
  return std::max(static_cast<double>(ns) / 1e9, kShortest);
}

double seconds_between(const Reading& before, const Reading& now) {
  return seconds_between(before.at_ns, now.at_ns);
}

HitRates rates_of(const HitCounts& before, const HitCounts& now, double seconds) {
  return {.recorded = rate(before.recorded, now.recorded, seconds),
          .filtered = rate(before.filtered, now.filtered, seconds),
          .dropped = rate(before.dropped, now.dropped, seconds),
          .missed = rate(before.missed, now.missed, seconds)};
}

TopHeader header_of(const Reading& before, const Reading& now, std::string overhead) {
  TopHeader header{.version = now.version,
                   .kernel = now.kernel,
                   .state = now.state,
                   .rates = rates_of(before.totals, now.totals, seconds_between(before, now)),
                   .overhead = std::move(overhead),
                   .flight_reach_ns = std::nullopt,
                   .sessions = now.sessions.size(),
                   .flight_saved_in = now.flight_saved_in};
  if (now.flight) header.flight_reach_ns = now.flight_reach_ns;
  return header;
}

TopTable events_table(const Reading& before, const Reading& now) {
  TopTable table{.columns = {{.title = "EVENT", .is_text = true},
                             {.title = "HITS/S"},
                             {.title = "RECORDED/S"},
                             {.title = "FILTERED/S"},
                             {.title = "DROPPED/S"},
                             {.title = "MISSED/S"}},
                 .rows = {}};
  const double seconds = seconds_between(before, now);
  for (const auto& [name, counts] : now.events) {
    const auto earlier = before.events.find(name);
    const HitRates rates =
        rates_of(earlier == before.events.end() ? HitCounts() : earlier->second, counts, seconds);
    table.rows.push_back({text_cell(name), rate_cell(rates.all()), rate_cell(rates.recorded),
                          rate_cell(rates.filtered), loss_cell(rates.dropped),
                          loss_cell(rates.missed)});
  }
  return table;
}

TopTable sessions_table(const Reading& before, const Reading& now) {
  TopTable table{.columns = {{.title = "SESSION", .is_text = true},
                             {.title = "EVENTS/S"},
                             {.title = "FILTERED/S"},
                             {.title = "LOST/S"},
                             {.title = "STATE", .is_text = true},
                             {.title = "SINK", .is_text = true},
                             {.title = "OWNER", .is_text = true}},
                 .rows = {}};
  const double seconds = seconds_between(before, now);
  for (const SessionReading& session : now.sessions) {
    const HitRates rates = rates_of(counts_before(before, session), session.counts, seconds);
    table.rows.push_back({text_cell(session.name), rate_cell(rates.recorded),
                          rate_cell(rates.filtered), loss_cell(rates.lost()),
                          text_cell(session.state), text_cell(session.sink),
                          text_cell(session.owner)});
  }
  return table;
}

}  // namespace ktraced
