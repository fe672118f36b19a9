// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/sessions/session_accounts.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "daemon/sessions/call_place.h"
#include "trace/metadata/account_record.h"

namespace ktraced {

EventCounts& EventCounts::operator+=(const EventCounts& other) {
  recorded += other.recorded;
  filtered += other.filtered;
  dropped += other.dropped;
  return *this;
}

EventCounts& EventCounts::operator-=(const EventCounts& other) {
  recorded -= other.recorded;
  filtered -= other.filtered;
  dropped -= other.dropped;
  return *this;
}

EventCounters& EventCounters::operator+=(const EventCounters& other) {
  counts += other.counts;
  missed += other.missed;
  overwritten += other.overwritten;
  return *this;
}

bool EventCounters::any() const {
  return counts.recorded + counts.filtered + counts.dropped + missed + overwritten != 0;
}

SessionAccounts::Reading& SessionAccounts::Reading::operator+=(const Reading& other) {
  counters += other.counters;
  per_cpu.resize(std::max(per_cpu.size(), other.per_cpu.size()));
  for (size_t cpu = 0; cpu < other.per_cpu.size(); ++cpu) per_cpu[cpu] += other.per_cpu[cpu];
  return *this;
}

SessionAccounts::Reading& SessionAccounts::Reading::operator-=(const Reading& base) {
  counters.counts -= base.counters.counts;
  counters.missed -= std::min(counters.missed, base.counters.missed);
  counters.overwritten -= std::min(counters.overwritten, base.counters.overwritten);
  for (size_t cpu = 0; cpu < base.per_cpu.size(); ++cpu) per_cpu[cpu] -= base.per_cpu[cpu];
  return *this;
}

// Hits are counted before what becomes of them, so they are read last: nothing is below zero.
SessionAccounts::Reading SessionAccounts::total(uint32_t session, const Event& event,
                                                uint64_t overwritten, bool emptied) const {
  Reading total{.counters = {.counts = {}, .missed = 0, .overwritten = overwritten}, .per_cpu = {}};
  for (uint32_t cpu = 0; cpu < counters_.cpus(); ++cpu) {
    const Counters::Stored stored = counters_.of(session, cpu, event.id);
    EventCounts counts{.recorded = stored.recorded, .filtered = 0, .dropped = stored.dropped};
    counts.filtered = ledger_.hits(session, cpu, event.id) - stored.recorded - stored.dropped;
    if (session == SESSION_RECORDER)
      counts.recorded =
          counters_.released(cpu, event.id) +
          (emptied ? flight_.recorded_before(cpu, event.id) : flight_.recorded(cpu, event.id));
    total.counters.counts += counts;
    total.per_cpu.push_back(counts);
  }
  total.counters.missed = ledger_.missed(session, event.id);
  return total;
}

SessionAccounts::Reading SessionAccounts::read(uint32_t session, const Event& event,
                                               uint64_t overwritten) const {
  Reading reading = total(session, event, overwritten);
  if (const auto base = baselines_.find({session, event.id}); base != baselines_.end())
    reading -= base->second;
  return reading;
}

std::map<uint16_t, SessionAccounts::Reading> SessionAccounts::read_all(uint32_t session) const {
  std::map<uint16_t, Reading> readings;
  for (const Event& event : catalog_.schema().events())
    if (Reading reading = read(session, event); reading.counters.any())
      readings.emplace(event.id, std::move(reading));
  return readings;
}

std::vector<std::byte> SessionAccounts::records(uint32_t session) const {
  const uint64_t now = boottime_ns(), reset_ns = this->reset_ns(session);
  HitAccount sum;
  std::vector<std::byte> records;
  const auto add = [&](uint32_t event, const HitAccount& hits) {
    const auto record = account_record({.event = event, .hits = hits, .reset_ns = reset_ns}, now);
    records.insert(records.end(), record.begin(), record.end());
  };
  for (const auto& [event, reading] : read_all(session)) {
    const EventCounts& counts = reading.counters.counts;
    const HitAccount hits{.recorded = counts.recorded,
                          .filtered = counts.filtered,
                          .dropped = counts.dropped,
                          .missed = reading.counters.missed};
    add(event, hits);
    sum += hits;
  }
  add(0, sum);
  return records;
}

SessionAccounts::Reading SessionAccounts::read_sum(uint32_t first, uint32_t end,
                                                   const Event& event) const {
  Reading sum;
  for (uint32_t session = first; session < end; ++session) {
    if (const auto ended = ended_.find({session, event.id}); ended != ended_.end())
      sum += ended->second;
    sum += read(session, event);
  }
  return sum;
}

uint64_t SessionAccounts::ignored(const Event& event) const {
  uint64_t sum = 0;
  for (uint32_t cpu = 0; cpu < counters_.cpus(); ++cpu) sum += ledger_.ignored(cpu, event.id);
  return sum;
}

bool SessionAccounts::any_hit(const Event& event) const {
  for (uint32_t cpu = 0; cpu < counters_.cpus(); ++cpu) {
    uint64_t sum = counters_.released(cpu, event.id) + flight_.recorded(cpu, event.id);
    for (uint32_t counter = 0; counter < WAY_COUNTERS; ++counter)
      sum += sum_of_places(event.id,
                           [&](uint16_t place) { return counters_.hits(cpu, counter, place); });
    if (sum != 0) return true;
  }
  return false;
}

void SessionAccounts::begin(uint32_t session) {
  reset(session);
  reset_ns_.at(session) = 0;
}

void SessionAccounts::end(uint32_t session) {
  for (const auto& [event, reading] : read_all(session)) ended_[{session, event}] += reading;
  begin(session);
}

// Programs record during a reset. Records written after the flight recorder was emptied are in it,
// so they are counted.
void SessionAccounts::reset(uint32_t session, bool emptied) {
  reset_ns_.at(session) = boottime_ns();
  std::vector<uint64_t> overwritten(EVENT_ID_MAX);
  if (session == SESSION_RECORDER && flight_.enabled())
    overwritten = emptied ? flight_.overwritten_before() : flight_.reach().overwritten;
  for (const Event& event : catalog_.schema().events()) {
    Reading now = total(session, event, overwritten[event.id], emptied);
    const bool any = now.counters.missed + now.counters.overwritten != 0 ||
                     std::ranges::any_of(now.per_cpu, [](const EventCounts& counts) {
                       return counts != EventCounts{};
                     });
    if (any)
      baselines_[{session, event.id}] = std::move(now);
    else
      baselines_.erase({session, event.id});
  }
}

}  // namespace ktraced
