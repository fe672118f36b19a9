// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/sessions/session_misses.h"

#include <atomic>

#include "daemon/sessions/call_place.h"

namespace ktraced {
namespace {

using Entry = SessionMisses::Entry;

// A daemon may be killed between two stores, so they must keep their order.
void store(uint64_t& value, uint64_t now) {
  std::atomic_ref(value).store(now, std::memory_order_release);
}

uint64_t since(uint64_t before, uint64_t now) { return now > before ? now - before : 0; }

uint64_t total(const Entry& entry, uint64_t now) {
  return entry.counted + (entry.on != 0 ? since(entry.before, now) : 0);
}

}  // namespace

Entry* SessionMisses::find(uint32_t session, uint16_t event) const {
  if (session < SESSION_CLIENT_FIRST) return &kept_[size_t{session} * EVENT_ID_MAX + event];
  const auto found = of_clients_.find({session, event});
  return found == of_clients_.end() ? nullptr : &found->second;
}

Entry& SessionMisses::entry(uint32_t session, uint16_t event) {
  Entry* known = find(session, event);
  return known != nullptr ? *known : of_clients_[{session, event}];
}

void SessionMisses::adopt_without_entries(std::span<const u32, EVENT_ID_MAX> ways) {
  std::lock_guard lock(mutex_);
  for (uint32_t session = 0; session < SESSION_CLIENT_FIRST; ++session)
    for (uint16_t event = 0; event < EVENT_ID_MAX; ++event) {
      const bool on = (ways[event] >> session & 1) != 0;
      entry(session, event) = {.counted = on ? 0 : count_(event), .before = 0, .on = on ? 1U : 0U};
    }
}

void SessionMisses::begin(uint16_t event, uint32_t sessions) { set(event, sessions, true); }

void SessionMisses::end(uint16_t event, uint32_t others) { set(event, ~others, false); }

void SessionMisses::set(uint16_t event, uint32_t sessions, bool on) {
  std::lock_guard lock(mutex_);
  for (uint32_t session = 0; session < SESSIONS_MAX; ++session) {
    if ((sessions >> session & 1) == 0) continue;
    const Entry* known = find(session, event);
    if (on == (known != nullptr && known->on != 0)) continue;
    Entry& entry = this->entry(session, event);
    const uint64_t now = count_(event);
    store(entry.counted, total(entry, now));
    store(entry.before, now);
    store(entry.on, on ? 1 : 0);
  }
}

uint64_t SessionMisses::at(uint32_t session, uint16_t place) const {
  const Entry* entry = find(session, place);
  if (entry == nullptr) return 0;
  return total(*entry, entry->on != 0 ? count_(place) : 0);
}

uint64_t SessionMisses::of(uint32_t session, uint16_t event) const {
  std::lock_guard lock(mutex_);
  const uint16_t functions = call_place(event);
  return at(session, event) + (functions != 0 ? at(session, functions) : 0);
}

}  // namespace ktraced
