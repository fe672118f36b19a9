// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/reconciler.h"

#include <algorithm>
#include <atomic>
#include <iterator>

#include "daemon/config/config.h"

namespace ktraced {

bool Reconciler::tracing() const {
  return (p_.stream.on() || p_.rings.flight().enabled()) && !paused_;
}

bool Reconciler::on(const Event& event) const {
  return tracing() && p_.enabled.contains(event.name);
}

// Programs that are attached ignore the hits of events that are off, so that an event ends at once
// and not when its program is detached.
void Reconciler::switch_events() {
  auto& event_on = p_.object.control().event_on;
  for (const Event& event : p_.catalog.schema().events())
    if (event.id < std::size(event_on))
      std::atomic_ref(event_on[event.id]).store(on(event) ? 1 : 0);
}

std::vector<ProgramNeed> Reconciler::needs() const {
  const bool following = p_.filters.following();
  const bool tracking = tracing() || following;
  std::vector<ProgramNeed> needs;
  for (const Event& event : p_.catalog.schema().events()) {
    const bool tracker = TaskTracking::tracks_names(event.name);
    if (is_dynamic(event))  // if a name has several definitions, the newest is used
      needs.push_back({.program = {.name = event.name, .dynamic_id = event.id},
                       .needed = on(event) && p_.catalog.schema().find(event.name) == &event});
    else if (p_.availability.supports(event.name))
      needs.push_back({.program = {.name = event.name},
                       .needed = on(event) || (tracking && tracker),
                       .first = tracker});  // events need thread names
  }
  std::ranges::move(p_.tracking.helper_needs(tracking, following), std::back_inserter(needs));
  return needs;
}

void Reconciler::reconcile() {
  if (closed_) return;
  const TraceConfigHistory::Change change(p_.history);
  if (tracing() || p_.filters.following()) p_.tracking.begin();
  switch_events();
  p_.attacher.start(needs());
  // Without the programs still to be attached. A first reader gets nothing before that.
  if (p_.attacher.running() && !changing_) changing_.emplace(p_.history);
  if (p_.attacher.running() && (p_.rings.flight().enabled() || p_.stream.has_reader()))
    note_config();
}

void Reconciler::note_attached() {
  p_.tracking.finish();
  note_config();
  changing_.reset();
}

void Reconciler::set_paused(bool paused) {
  paused_ = paused;
  reconcile();
}

std::shared_ptr<void> Reconciler::begin_change() {
  return std::make_shared<TraceConfigHistory::Change>(p_.history);
}

void Reconciler::drop_work() {
  p_.attacher.cancel();
  if (changing_) note_config();
  changing_.reset();
  p_.attacher.fail_waiting();
}

// An enabled event is traced from when it is attached.
EventSet Reconciler::traced_events() const {
  EventSet traced = p_.enabled;
  std::erase_if(traced, [&](const std::string& name) {
    if (p_.availability.why_not(name) != nullptr) return true;
    const DynamicEvent* dynamic = p_.catalog.dynamic().find(name);
    return tracing() &&
           !(dynamic != nullptr ? p_.catalog.attached(dynamic->event) : p_.object.attached(name));
  });
  return traced;
}

// Called after every possible change of the trace config, even if nothing has changed.
void Reconciler::note_config() {
  const FilterSettings& filter = p_.filters.current();
  nlohmann::json now = {
      {"events", traced_events()},
      {"syscalls_only", filter.syscall},
      {"filter", filter_to_json(filter)},
      {"flight", {{"buffer_kb", sizes_.flight_bytes / 1024}, {"banks", sizes_.flight_banks}}},
      {"stream", {{"buffer_kb", p_.rings.stream().ring_bytes() / 1024}}},
      {"state", paused_ ? "paused" : "running"}};
  if (const auto ns = p_.history.note(std::move(now))) on_change_(p_.history.current(), *ns);
}

}  // namespace ktraced
