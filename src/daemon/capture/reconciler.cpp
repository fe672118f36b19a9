// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/reconciler.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/clock.h"
#include "daemon/config/config.h"
#include "daemon/programs/entry_times.h"
#include "daemon/sessions/call_place.h"
#include "daemon/sessions/session_rules.h"

namespace ktraced {
namespace {

bool is_call(const std::string& event) { return event == "sys_enter" || event == "sys_exit"; }

EntryTimes entry_times(const Reconciler::Parts& parts) {
  return {parts.object, parts.catchers, parts.availability,
          recording(parts.sessions, EntryTimes::kEvent) != 0};
}

}  // namespace

// The recorder takes every hit: it asks neither for the thread nor for the system call.
bool Reconciler::direct(const Event& event) const {
  const Session& recorder = p_.sessions.recorder();
  return (p_.filters.filtering() & recorder.bit()) == 0 &&
         !(selects_calls(event.id) && !filter_of(p_.sessions, recorder).syscall.empty());
}

// Programs that are attached ignore the hits of events that are off, so that an event ends at once
// and not when its program is detached.
void Reconciler::switch_events() {
  std::vector<SessionLedger::Target> events;
  for (const Event& event : p_.catalog.schema().events()) {
    if (event.id >= EVENT_ID_MAX) continue;
    uint32_t sessions = recording(p_.sessions, event.name);
    if (const uint16_t stacks = stack_place(event.id); stacks != 0) {
      if (const auto moving = moving_stacks_.find(event.name); moving != moving_stacks_.end())
        sessions &= ~moving->second;
      const uint32_t stacked = sessions & p_.stacks.sessions(event.name);
      events.push_back({.event = stacks, .sessions = stacked, .direct = false});
      sessions &= ~stacked;
    }
    if (const uint16_t functions = call_place(event.id); functions != 0) {
      sessions &= ~moving_;
      const uint32_t at_functions = sessions & p_.calls.sessions();
      events.push_back({.event = functions, .sessions = at_functions, .direct = false});
      sessions &= ~at_functions;
    }
    events.push_back({.event = event.id, .sessions = sessions, .direct = direct(event)});
  }
  p_.ledger.change(events);
}

std::vector<ProgramNeed> Reconciler::needs() const {
  const TaskTracking::Tracked tracked{
      .names = any_records(p_.sessions) || p_.filters.following(),
      .threads = p_.filters.following() || p_.filters.filtering() != 0,
      .cgroups = p_.filters.by_cgroup() != 0};
  std::vector<ProgramNeed> needs;
  for (const Event& event : p_.catalog.schema().events()) {
    const bool tracker = TaskTracking::tracks_names(event.name);
    const uint32_t elsewhere =
        p_.stacks.sessions(event.name) | (call_place(event.id) != 0 ? p_.calls.sessions() : 0);
    const bool on = (recording(p_.sessions, event.name) & ~elsewhere) != 0;
    Program program{.name = event.name};
    if (is_dynamic(event)) {  // if a name has several definitions, the newest is used
      program.kind = Program::Kind::dynamic;
      program.dynamic_id = event.id;
      const bool newest = p_.catalog.schema().find(event.name) == &event;
      needs.push_back({.program = std::move(program), .needed = on && newest});
    } else if (event.name != kSampleEvent && p_.availability.supports(event.name)) {
      needs.push_back({.program = std::move(program),
                       .needed = on || (tracked.names && tracker),
                       .first = tracker});  // events need thread names
      if (p_.catchers.supports(event.name))
        needs.push_back(
            {.program = {.name = Catchers::program(event.name), .kind = Program::Kind::catcher},
             .needed = on && p_.catchers.chosen(event.name)});
    }
  }
  std::ranges::move(p_.calls.needs(), std::back_inserter(needs));
  std::ranges::move(p_.stacks.needs(), std::back_inserter(needs));
  std::ranges::move(entry_times(p_).needs(), std::back_inserter(needs));
  std::ranges::move(p_.tracking.helper_needs(tracked), std::back_inserter(needs));
  return needs;
}

void Reconciler::reconcile() {
  if (closed_) return;
  const TraceConfigHistory::Change change(p_.history);
  if (any_records(p_.sessions) || p_.filters.following()) p_.tracking.begin();
  move_calls();
  move_stacks();
  switch_events();
  entry_times(p_).begin();
  p_.attacher.start(needs());
  // Without the programs still to be attached.
  if (p_.attacher.running() && !changing_) changing_.emplace(p_.history);
  if (p_.attacher.running()) note_config();
}

void Reconciler::prepare(const TaskTracking::Tracked& tracked, ProgramAttacher::OnAttached then) {
  if (!tracked.any()) return then({});
  if (tracked.names) p_.tracking.begin();
  p_.attacher.prepare(p_.tracking.preparation(tracked), std::move(then));
}

// A session that moves records no calls until the programs that run now have ended, or a call would
// be recorded in both places, and until its programs are attached.
void Reconciler::move_calls() {
  const uint32_t before = p_.calls.sessions();
  if (!p_.calls.decide(p_.sessions)) return;
  moving_ = before ^ p_.calls.sessions();
  switch_events();
  note_config();
  moving_ = 0;
}

// A session that moves to the other program of an event records it with neither until those that
// run now have ended, or a hit would be recorded by both.
void Reconciler::move_stacks() {
  moving_stacks_ = p_.stacks.decide(p_.sessions);
  if (moving_stacks_.empty()) return;
  switch_events();
  note_config();
  moving_stacks_.clear();
}

void Reconciler::note_attached() {
  const bool calls_failed = p_.calls.take_failed(), stacks_failed = p_.stacks.take_failed();
  if (calls_failed || stacks_failed) return reconcile();
  p_.tracking.finish();
  entry_times(p_).finish();
  note_config();
  changing_.reset();
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

bool Reconciler::attached(const Session& session, const std::string& event) const {
  if (const auto moving = moving_stacks_.find(event);
      moving != moving_stacks_.end() && (moving->second & session.bit()) != 0)
    return false;
  if (with_stacks(session, event)) return p_.stacks.attached(event);
  if (is_call(event) && (moving_ & session.bit()) != 0) return false;
  if (is_call(event) && (p_.calls.sessions() & session.bit()) != 0)
    return p_.calls.attached(session);
  const DynamicEvent* dynamic = p_.catalog.dynamic().find(event);
  return dynamic != nullptr ? p_.catalog.attached(dynamic->event) : p_.object.attached(event);
}

// An enabled event is traced from when it is attached.
EventSet Reconciler::traced_events(const Session& session) const {
  EventSet traced = events_of(p_.sessions, session);
  std::erase_if(traced, [&](const std::string& name) {
    if (p_.availability.why_not(name) != nullptr || !may_record(session, name)) return true;
    return records(p_.sessions, session) && !attached(session, name);
  });
  return traced;
}

bool Reconciler::with_stacks(const Session& session, const std::string& event) const {
  return (p_.stacks.sessions(event) & session.bit()) != 0;
}

nlohmann::json Reconciler::describe(const Session& session) const {
  const FilterSettings filter = filter_of(p_.sessions, session);
  const EventSet events = traced_events(session);
  nlohmann::json config = {
      {"events", events},
      {"syscalls_only", filter.syscall},
      {"filter", filter_to_json(filter)},
      {"flight", {{"buffer_kb", sizes_.flight_bytes / 1024}, {"banks", sizes_.flight_banks}}},
      {"stream", {{"buffer_kb", session.ring_bytes / 1024}}},
      {"state", paused(p_.sessions, session) ? "paused" : "running"}};
  if (events.contains(kSampleEvent)) config["sampling"] = p_.stacks.describe_sampling();
  EventSet stacks = events;
  std::erase_if(stacks, [&](const std::string& event) { return !with_stacks(session, event); });
  if (!stacks.empty()) config["stacks"] = stacks;
  return config;
}

// Called after every possible change of the trace config, even if nothing has changed.
void Reconciler::note_config() {
  if (const auto ns = p_.history.note(describe(p_.sessions.recorder())))
    on_change_(SESSION_RECORDER, p_.history.current(), *ns);
  std::map<uint32_t, SharedConfig> now;
  for (const Session& session : p_.sessions.all()) {
    if (session.is_recorder()) continue;
    // Without a sink: what the last of its records was recorded with.
    const auto last = session.has_sink ? configs_.end() : configs_.find(session.number);
    now[session.number] = last != configs_.end()
                              ? last->second
                              : std::make_shared<const nlohmann::json>(describe(session));
  }
  std::map<uint32_t, SharedConfig> before;
  {
    std::lock_guard lock(mutex_);
    before = std::exchange(configs_, now);
  }
  const uint64_t ns = boottime_ns();
  for (const auto& [number, config] : now)
    if (const auto old = before.find(number); old == before.end() || *old->second != *config)
      on_change_(number, config, ns);
}

Reconciler::SharedConfig Reconciler::config_of(uint32_t session) const {
  {
    std::lock_guard lock(mutex_);
    if (const auto found = configs_.find(session); found != configs_.end()) return found->second;
  }
  return p_.history.current();
}

}  // namespace ktraced
