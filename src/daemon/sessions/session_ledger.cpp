// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/sessions/session_ledger.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "daemon/sessions/call_place.h"

namespace ktraced {
namespace {

uint32_t counter_of(uint32_t way) { return (way & WAY_COUNTER) >> WAY_COUNTER_SHIFT; }

// The first two counters are for hits that the recorder does not see, the last two for the others.
// Those of a pair are used in turns: programs that loaded the word before still count in the other.
uint32_t next_counter(bool for_recorder, uint32_t used) {
  return (for_recorder ? WAY_COUNTERS / 2 : 0) + (1 - used % 2);
}

// Does the session, or nobody (SESSIONS_MAX), see the hits of programs that load the word?
bool sees(uint32_t session, uint32_t way) {
  const uint32_t sessions = way & WAY_SESSIONS;
  return session == SESSIONS_MAX ? sessions == 0 : (sessions >> session & 1) != 0;
}

uint64_t at(const std::vector<uint64_t>& counts, uint32_t cpu) {
  return counts.empty() ? 0 : counts[cpu];
}

uint64_t total(const SessionMissesEntry& entry, uint64_t now) {
  return entry.counted + (entry.on != 0 && now > entry.before ? now - entry.before : 0);
}

}  // namespace

SessionLedger::SessionLedger(Kernel kernel, std::span<SessionMissesEntry> misses)
    : kernel_(std::move(kernel)), misses_(misses) {
  for (uint16_t event = 0; event < EVENT_ID_MAX; ++event)
    if (auto counts = read(event, kernel_.ways[event]);
        std::ranges::any_of(counts, [](uint64_t count) { return count != 0; }))
      hits_[event].before = std::move(counts);
}

void SessionLedger::adopt_without_misses() {
  std::lock_guard lock(mutex_);
  for (uint32_t session = 0; session < SESSION_CLIENT_FIRST; ++session)
    for (uint16_t event = 0; event < EVENT_ID_MAX; ++event) {
      const uint64_t now = kernel_.missed(event);
      misses(session, event) = {
          .counted = now, .before = now, .on = kernel_.ways[event] >> session & 1};
    }
}

std::vector<uint64_t> SessionLedger::read(uint16_t event, uint32_t way) const {
  std::vector<uint64_t> counts;
  for (uint32_t cpu = 0; cpu < kernel_.cpus; ++cpu)
    counts.push_back(kernel_.hits(cpu, counter_of(way), event));
  return counts;
}

// How hits are stored directly; 0: not at all.
uint32_t SessionLedger::direct_bits(const Target& target) const {
  if (!target.direct || (target.sessions & WAY_RECORDER) == 0) return 0;
  if (target.sessions == WAY_RECORDER) return WAY_DIRECT;
  return kernel_.beside ? WAY_BESIDE : 0;
}

// The misses of a session begin before programs know that it has the event on, and end when they
// know that it has it off. A daemon that is killed in between may leave hits that are counted
// twice, but never loses any.
void SessionLedger::change(std::span<const Target> events) {
  for (const Target& target : events) switch_misses(target.event, target.sessions, true);
  std::vector<Ended> ended;
  for (const Target& target : events) {
    std::atomic_ref<u32> way(kernel_.ways[target.event]);
    const uint32_t old = way.load(), direct = direct_bits(target);
    uint32_t now = target.sessions | direct | (old & WAY_COUNTER);
    // Other sessions see its hits, or those of the recorder are counted elsewhere.
    if (((old ^ now) & (WAY_SESSIONS | WAY_BESIDE)) != 0) {
      const bool for_recorder = (target.sessions & WAY_RECORDER) != 0 && direct != WAY_BESIDE;
      now = target.sessions | direct |
            next_counter(for_recorder, counter_of(old)) << WAY_COUNTER_SHIFT;
      ended.push_back({.event = target.event, .way = old, .next = read(target.event, now)});
    }
    if (now != old) way.store(now);
  }
  for (const Target& target : events) switch_misses(target.event, ~target.sessions, false);
  if (!ended.empty()) kernel_.wait();
  for (Ended& each : ended) add(std::move(each));
}

void SessionLedger::drop(uint32_t sessions) {
  std::vector<Target> events;
  for (uint16_t event = 0; event < EVENT_ID_MAX; ++event)
    if (const uint32_t before = kernel_.ways[event] & WAY_SESSIONS; (before & sessions) != 0)
      events.push_back({.event = event, .sessions = before & ~sessions, .direct = false});
  change(events);
}

// No program counts for the stretch any more.
void SessionLedger::add(Ended ended) {
  Hits& hits = hits_[ended.event];
  for (uint32_t session = SESSION_RECORDER + 1; session <= kNobody; ++session) {
    if (!sees(session, ended.way)) continue;
    std::vector<uint64_t> counts;
    for (uint32_t cpu = 0; cpu < kernel_.cpus; ++cpu)
      counts.push_back(hits_at(session, cpu, ended.event, ended.way));
    hits.ended[session] = std::move(counts);
  }
  hits.before = std::move(ended.next);
}

// `way`: the word of the stretch that has not ended.
uint64_t SessionLedger::hits_at(uint32_t session, uint32_t cpu, uint16_t place,
                                uint32_t way) const {
  if (session == SESSION_RECORDER) {
    uint64_t sum = 0;
    for (uint32_t counter = WAY_COUNTERS / 2; counter < WAY_COUNTERS; ++counter)
      sum += kernel_.hits(cpu, counter, place);
    return sum;
  }
  static const Hits kNone;
  const auto found = hits_.find(place);
  const Hits& hits = found == hits_.end() ? kNone : found->second;
  uint64_t sum = at(hits.ended[session], cpu);
  if (sees(session, way)) sum += kernel_.hits(cpu, counter_of(way), place) - at(hits.before, cpu);
  return sum;
}

uint64_t SessionLedger::hits(uint32_t session, uint32_t cpu, uint16_t event) const {
  return sum_of_places(
      event, [&](uint16_t place) { return hits_at(session, cpu, place, kernel_.ways[place]); });
}

void SessionLedger::switch_misses(uint16_t place, uint32_t sessions, bool on) {
  std::lock_guard lock(mutex_);
  for (uint32_t session = 0; session < SESSIONS_MAX; ++session) {
    SessionMissesEntry& entry = misses(session, place);
    if ((sessions >> session & 1) == 0 || on == (entry.on != 0)) continue;
    const uint64_t now = kernel_.missed(place);
    store_in_order(entry.counted, total(entry, now));
    store_in_order(entry.before, now);
    store_in_order(entry.on, on ? 1 : 0);
  }
}

uint64_t SessionLedger::missed(uint32_t session, uint16_t event) const {
  std::lock_guard lock(mutex_);
  return sum_of_places(event, [&](uint16_t place) {
    const SessionMissesEntry& entry = misses(session, place);
    return total(entry, entry.on != 0 ? kernel_.missed(place) : 0);
  });
}

}  // namespace ktraced
