// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/sessions/session_hits.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace ktraced {
namespace {

uint32_t counter_of(uint32_t way) { return (way & WAY_COUNTER) >> WAY_COUNTER_SHIFT; }

// Two counters for hits that the recorder sees, and two for the others.
bool counts_for_recorder(uint32_t counter) { return counter >= WAY_COUNTERS / 2; }

// Counters 0 and 2, and 1 and 3, are used in turns: programs that loaded the word before may still
// count in both of a pair.
uint32_t next_counter(bool for_recorder, uint32_t used) {
  return (for_recorder ? WAY_COUNTERS / 2 : 0) + (1 - used % 2);
}

}  // namespace

SessionHits::SessionHits(Kernel kernel) : kernel_(std::move(kernel)) {
  for (uint16_t event = 0; event < EVENT_ID_MAX; ++event) {
    const uint32_t way = kernel_.ways[event];
    Period now = begin(event, way & WAY_SESSIONS, counter_of(way));
    if (now.sessions != 0 ||
        std::ranges::any_of(now.before, [](uint64_t count) { return count != 0; }))
      histories_[event].now = std::move(now);
  }
}

SessionHits::Period SessionHits::begin(uint16_t event, uint32_t sessions, uint32_t counter) const {
  Period period{.sessions = sessions, .counter = counter, .before = {}};
  for (uint32_t cpu = 0; cpu < kernel_.cpus; ++cpu)
    period.before.push_back(kernel_.count(cpu, counter, event));
  return period;
}

// An event that no session has had yet has always been counted by the counter of its word.
SessionHits::History& SessionHits::history_of(uint16_t event) {
  const auto [found, is_new] = histories_.try_emplace(event);
  if (is_new)
    found->second.now = {.sessions = 0,
                         .counter = counter_of(kernel_.ways[event]),
                         .before = std::vector<uint64_t>(kernel_.cpus)};
  return found->second;
}

// What a session, or nobody, saw in this period.
uint64_t SessionHits::count(const Period& period, uint32_t session, uint32_t cpu,
                            uint16_t event) const {
  const bool saw =
      session == kNobody ? period.sessions == 0 : (period.sessions >> session & 1) != 0;
  if (!saw || period.counter == kNoCounter) return 0;
  return kernel_.count(cpu, period.counter, event) - period.before[cpu];
}

// No program counts for the last period any more: its hits are final.
void SessionHits::settle(uint16_t event, History& history) {
  for (uint32_t session = SESSION_RECORDER + 1; session <= kNobody; ++session) {
    std::vector<uint64_t>& seen = history.seen[session];
    seen.resize(kernel_.cpus);
    for (uint32_t cpu = 0; cpu < kernel_.cpus; ++cpu)
      seen[cpu] += count(history.last, session, cpu, event);
  }
  history.last = {};
}

void SessionHits::change(std::span<const Target> events) {
  const bool any = std::ranges::any_of(
      events, [this](const Target& target) { return changes_counters(target); });
  if (any) kernel_.wait();
  for (const Target& target : events) change(target);
}

uint32_t SessionHits::direct_bits(const Target& target) const {
  if (!target.direct || (target.sessions & WAY_RECORDER) == 0) return 0;
  if (target.sessions == WAY_RECORDER) return WAY_DIRECT;
  return kernel_.beside ? WAY_BESIDE : 0;
}

// Does a change of the event need other counters, because other sessions see its hits, or because
// those of the recorder are counted elsewhere?
bool SessionHits::changes_counters(const Target& target) const {
  const uint32_t old = kernel_.ways[target.event];
  return (old & WAY_SESSIONS) != target.sessions || ((old ^ direct_bits(target)) & WAY_BESIDE) != 0;
}

void SessionHits::change(const Target& target) {
  std::atomic_ref<u32> way(kernel_.ways[target.event]);
  const uint32_t old = way.load();
  const uint32_t direct = direct_bits(target);
  uint32_t counter = counter_of(old);
  if (changes_counters(target)) {
    History& history = history_of(target.event);
    settle(target.event, history);
    const bool for_recorder = (target.sessions & WAY_RECORDER) != 0 && direct != WAY_BESIDE;
    counter = next_counter(for_recorder, counter);
    history.last = std::exchange(history.now, begin(target.event, target.sessions, counter));
  }
  const uint32_t now = target.sessions | counter << WAY_COUNTER_SHIFT | direct;
  if (now != old) way.store(now);
}

void SessionHits::drop(uint32_t session) {
  std::vector<Target> events;
  for (uint16_t event = 0; event < EVENT_ID_MAX; ++event)
    if (const uint32_t sessions = kernel_.ways[event] & WAY_SESSIONS;
        (sessions >> session & 1) != 0)
      events.push_back({.event = event, .sessions = sessions & ~(1U << session), .direct = false});
  change(events);
}

uint64_t SessionHits::seen(uint32_t session, uint32_t cpu, uint16_t event) const {
  uint64_t sum = 0;
  if (session == SESSION_RECORDER) {
    for (uint32_t counter = 0; counter < WAY_COUNTERS; ++counter)
      if (counts_for_recorder(counter)) sum += kernel_.count(cpu, counter, event);
    return sum;
  }
  const auto found = histories_.find(event);
  if (found == histories_.end())
    return session == kNobody ? kernel_.count(cpu, counter_of(kernel_.ways[event]), event) : 0;
  const History& history = found->second;
  sum = count(history.last, session, cpu, event) + count(history.now, session, cpu, event);
  return sum + (history.seen[session].empty() ? 0 : history.seen[session][cpu]);
}

void SessionHits::clear(uint32_t session) {
  for (auto& [event, history] : histories_) {
    history.seen[session].clear();
    history.last.sessions &= ~(1U << session);
  }
}

}  // namespace ktraced
