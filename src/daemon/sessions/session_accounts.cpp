// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/sessions/session_accounts.h"

#include <algorithm>

#include "base/clock.h"
#include "daemon/sessions/call_place.h"

namespace ktraced {
namespace {

// Where hits of an event are counted.
std::vector<uint16_t> places_of(uint16_t event) {
  if (const uint16_t place = call_place(event); place != 0) return {event, place};
  return {event};
}

}  // namespace

EventCounts& EventCounts::operator+=(const EventCounts& other) {
  recorded += other.recorded;
  filtered += other.filtered;
  dropped += other.dropped;
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

// Hits are counted before what becomes of them, so they are read last: nothing is below zero.
EventCounts SessionAccounts::total(uint32_t session, uint32_t cpu, uint16_t event) const {
  const Counters::Stored stored = counters_.of(session, cpu, event);
  EventCounts counts{.recorded = stored.recorded, .filtered = 0, .dropped = stored.dropped};
  uint64_t seen = 0;
  for (const uint16_t place : places_of(event)) seen += hits_.seen(session, cpu, place);
  counts.filtered = seen - stored.recorded - stored.dropped;
  if (session == SESSION_RECORDER)
    counts.recorded = counters_.released(cpu, event) + flight_.recorded(cpu, event);
  return counts;
}

uint64_t SessionAccounts::missed(uint32_t session, uint16_t event) const {
  const auto before = missed_before_.find({session, event});
  return misses_.of(session, event) - (before == missed_before_.end() ? 0 : before->second);
}

// The session counts missed hits from zero.
void SessionAccounts::reset_missed(uint32_t session) {
  for (const Event& event : catalog_.schema().events())
    missed_before_[{session, event.id}] = misses_.of(session, event.id);
}

SessionAccounts::Reading SessionAccounts::read(uint32_t session, const Event& event,
                                               uint64_t overwritten) const {
  Reading reading;
  const auto found = baselines_.find({session, event.id});
  const Baseline* base = found == baselines_.end() ? nullptr : &found->second;
  for (uint32_t cpu = 0; cpu < counters_.cpus(); ++cpu) {
    EventCounts counts = total(session, cpu, event.id);
    if (base != nullptr)
      counts = {.recorded = counts.recorded - base->per_cpu[cpu].recorded,
                .filtered = counts.filtered - base->per_cpu[cpu].filtered,
                .dropped = counts.dropped - base->per_cpu[cpu].dropped};
    reading.counters.counts += counts;
    reading.per_cpu.push_back(counts);
  }
  reading.counters.missed = missed(session, event.id);
  // A read of a ring that is being written can briefly be too low: never report less than zero.
  reading.counters.overwritten =
      overwritten - std::min(overwritten, base != nullptr ? base->overwritten : 0);
  return reading;
}

std::map<uint16_t, SessionAccounts::Reading> SessionAccounts::read_all(uint32_t session) const {
  std::map<uint16_t, Reading> readings;
  for (const Event& event : catalog_.schema().events())
    if (Reading reading = read(session, event); reading.counters.any())
      readings.emplace(event.id, std::move(reading));
  return readings;
}

SessionAccounts::Reading SessionAccounts::read_streams(const Event& event) const {
  return read_range(SESSION_RECORDER + 1, SESSIONS_MAX, event);
}

SessionAccounts::Reading SessionAccounts::read_output(const Event& event) const {
  return read_range(SESSION_OUTPUT, SESSION_OUTPUT + 1, event);
}

SessionAccounts::Reading SessionAccounts::read_clients(const Event& event) const {
  return read_range(SESSION_CLIENT_FIRST, SESSIONS_MAX, event);
}

// The sums of the sessions from number `first` up to, not including, `end`; also of ended ones.
SessionAccounts::Reading SessionAccounts::read_range(uint32_t first, uint32_t end,
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
  for (uint32_t cpu = 0; cpu < counters_.cpus(); ++cpu)
    for (const uint16_t place : places_of(event.id)) sum += hits_.ignored(cpu, place);
  return sum;
}

bool SessionAccounts::any_hit(const Event& event) const {
  for (uint32_t cpu = 0; cpu < counters_.cpus(); ++cpu) {
    uint64_t sum = counters_.released(cpu, event.id) + flight_.recorded(cpu, event.id);
    for (const uint16_t place : places_of(event.id))
      for (uint32_t counter = 0; counter < WAY_COUNTERS; ++counter)
        sum += counters_.hits(cpu, counter, place);
    if (sum != 0) return true;
  }
  return false;
}

void SessionAccounts::begin(uint32_t session, bool adopted) {
  hits_.clear(session);
  reset_ns_.at(session) = 0;
  if (!adopted) counters_.clear(session);
  std::erase_if(baselines_, [session](const auto& entry) { return entry.first.first == session; });
  reset_missed(session);
  if (adopted)
    for (const Event& event : catalog_.schema().events()) set_baseline(session, event, false, 0);
}

void SessionAccounts::end(uint32_t session) {
  for (const auto& [event, reading] : read_all(session)) ended_[{session, event}] += reading;
  begin(session);
}

void SessionAccounts::set_baseline(uint32_t session, const Event& event, bool emptied,
                                   uint64_t overwritten) {
  Baseline baseline{.per_cpu = {}, .overwritten = overwritten};
  for (uint32_t cpu = 0; cpu < counters_.cpus(); ++cpu) {
    EventCounts counts = total(session, cpu, event.id);
    if (emptied)
      counts.recorded = counters_.released(cpu, event.id) + flight_.recorded_before(cpu, event.id);
    baseline.per_cpu.push_back(counts);
  }
  baselines_[{session, event.id}] = std::move(baseline);
}

// Programs record during a reset. Records written after the flight recorder was emptied are in it,
// so they are counted.
void SessionAccounts::reset(uint32_t session, bool emptied) {
  reset_ns_.at(session) = boottime_ns();
  std::vector<uint64_t> overwritten(EVENT_ID_MAX);
  if (session == SESSION_RECORDER && flight_.enabled())
    overwritten = emptied ? flight_.overwritten_before() : flight_.reach().overwritten;
  for (const Event& event : catalog_.schema().events())
    set_baseline(session, event, emptied, overwritten[event.id]);
  reset_missed(session);
}

}  // namespace ktraced
