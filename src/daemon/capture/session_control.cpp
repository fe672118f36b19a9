// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/session_control.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/clock.h"
#include "daemon/config/config.h"
#include "daemon/runtime/failure_barrier.h"
#include "daemon/sessions/session_rules.h"
#include "schema/names.h"
#include "trace/metadata/account_record.h"

namespace ktraced {
namespace {

// The numbers of system calls in each ABI (values of syscall_abi_t).
std::map<uint32_t, std::vector<uint32_t>> syscall_numbers(const std::vector<std::string>& names) {
  std::map<uint32_t, std::vector<uint32_t>> numbers;
  for (const std::string& name : names)
    for (uint32_t abi = 0; abi < SYSCALL_ABIS; ++abi)
      if (auto number = syscall_number(abi, name))
        numbers[abi].push_back(static_cast<uint32_t>(*number));
  return numbers;
}

// Names the place of a bad value in the configuration.
Error at_key(std::string_view key, const Error& error) {
  if (error.code != ExitCode::usage) return error;
  return {error.code, fmt::format("{}: {}", key, error.message)};
}

}  // namespace

void SessionControl::start(std::unique_ptr<Drain> drain, const Uuid& uuid, Publish publish_output) {
  drain_ = std::move(drain);
  uuid_ = uuid;
  publish_output_ = std::move(publish_output);
}

void SessionControl::announce(uint32_t session, std::span<const std::byte> records) {
  if (drain_) drain_->announce(session, records);
}

void SessionControl::announce(std::span<const std::byte> records) {
  if (drain_) drain_->announce(records);
}

size_t SessionControl::used_bytes() const {
  size_t sum = 0;
  for (const Session& session : p_.sessions.all())
    sum += session.ring_bytes * p_.rings.cpus().size();
  return sum;
}

Result<> SessionControl::check_output(const RingBudget& budget) const {
  if (p_.sessions.output().has_sink) return {};
  auto fitting = ring_share(budget, used_bytes(), p_.rings.cpus().size(), {});
  if (!fitting) return propagate(fitting);
  return {};
}

Result<size_t> SessionControl::ring_bytes_for(const RingRequest& request) const {
  return ring_share(budget_, used_bytes(), p_.rings.cpus().size(), request);
}

std::unique_ptr<SessionStream> SessionControl::make_stream(StreamRings rings,
                                                           StreamAccount* account,
                                                           Publish publish) const {
  return std::make_unique<SessionStream>(
      std::move(rings), p_.rings.counters(),
      SessionStream::Options{.uuid = uuid_, .account = account, .publish = std::move(publish)});
}

Result<> SessionControl::open_stream(Session& session, size_t ring_bytes, Publish publish) {
  const bool output = session.number == SESSION_OUTPUT;
  p_.rings.counters().restart_stacks(session.number);
  StreamRings rings(p_.object, session.number, ring_bytes, output);
  for (const uint32_t cpu : p_.rings.cpus())
    if (auto added = rings.add_cpu(cpu); !added) {
      rings.retire();
      return added;
    }
  auto stream =
      make_stream(std::move(rings), output ? &p_.rings.account() : nullptr, std::move(publish));
  if (auto opened = drain_->open(std::move(stream)); !opened) return opened;
  session.ring_bytes = ring_bytes;
  return {};
}

Result<SessionControl::Open> SessionControl::open(const SessionRequest& request,
                                                  const std::function<Publish(uint32_t)>& publish) {
  auto ring_bytes = ring_bytes_for(
      {.ring_bytes = request.ring_bytes, .ordinary_user = request.owner.is_ordinary_user()});
  if (!ring_bytes) return propagate(ring_bytes);
  RingMemory rings{.cpus = p_.rings.cpus().size(), .stream_bytes = *ring_bytes};
  const bool samples = request.events && request.events->contains(kSampleEvent);
  if ((samples || (request.stacks && !request.stacks->empty())) && p_.stacks.memory() == 0)
    rings.stack_bytes = StackPrograms::memory_needed();
  if (auto room = check_memory_room(rings); !room) return propagate(room);
  auto added = p_.sessions.add(request.name, request.owner, boottime_ns());
  if (!added) return propagate(added);
  Session& session = **added;
  Open open(&session, [number = session.number, weak = std::weak_ptr(self_)](const Session*) {
    if (const auto self = weak.lock())
      FailureBarrier("closing a session").run([&] { (*self)->close(number); });
  });
  session.own_events = request.events;
  session.own_stacks = request.stacks;
  if (request.filter) session.own_filter = OwnFilter::of(*request.filter);
  if (request.owner.own_only) confine(session);
  const auto change = p_.applier.begin_change();
  p_.accounts.begin(session.number);
  auto ready = apply_own_filter(session);
  if (ready) ready = open_stream(session, *ring_bytes, publish(session.number));
  if (!ready) return propagate(ready);
  session.has_sink = true;
  p_.applier.reconcile();
  return open;
}

// Limits a session to the processes of its owner. The recorder's filter is copied: later changes of
// that do not apply.
void SessionControl::confine(Session& session) const {
  TaskFilter tasks = filter_of(p_.sessions, session).tasks();
  tasks.include.uid = {session.owner.uid};
  session.own_filter.tasks = std::move(tasks);
}

// From now on no program records for these sessions, and their counts are final.
void SessionControl::stop(std::span<Session* const> sessions) {
  for (Session* session : sessions) session->has_sink = false;
  p_.applier.reconcile();
}

void SessionControl::finish(uint32_t number, std::string_view reason) {
  Session* session = p_.sessions.find(number);
  if (session == nullptr || !drain_) return;
  const auto change = p_.applier.begin_change();
  stop(std::span(&session, 1));
  drain_->close(number, Drain::Last::publish, last_records(number, reason));
  session->ring_bytes = 0;
}

std::vector<std::byte> SessionControl::last_records(uint32_t number,
                                                    std::string_view reason) const {
  auto records = p_.accounts.records(number);
  if (reason.empty()) return records;
  const auto end = end_record(reason, boottime_ns());
  records.insert(records.end(), end.begin(), end.end());
  return records;
}

// First no program writes for it, then its rings go.
void SessionControl::close(uint32_t number) {
  Session* session = p_.sessions.find(number);
  if (session == nullptr) return;
  const auto change = p_.applier.begin_change();
  if (std::exchange(session->has_sink, false)) p_.applier.reconcile();
  if (drain_) drain_->close(number, Drain::Last::nothing);
  p_.accounts.end(number);
  p_.filters.release(number);
  p_.sessions.remove(number);
  p_.applier.reconcile();  // following may have ended
}

// Gives the parts of a filter to these sessions, by bits.
Result<> SessionControl::apply_filter(uint32_t tasks_of, uint32_t syscalls_of,
                                      const FilterSettings& settings) {
  if (auto applied = p_.filters.apply(tasks_of, settings); !applied) return applied;
  p_.filters.select_syscalls(syscalls_of, syscall_numbers(settings.syscall));
  return {};
}

Result<> SessionControl::apply_own_filter(const Session& session) {
  return apply_filter(session.bit(), session.bit(), filter_of(p_.sessions, session));
}

Result<> SessionControl::set_recorder_filter(const FilterSettings& settings) {
  if (auto applied = apply_filter(with_tasks_of_recorder(p_.sessions),
                                  with_syscalls_of_recorder(p_.sessions), settings);
      !applied)
    return applied;
  p_.sessions.recorder().own_filter = OwnFilter::of(settings);
  return {};
}

// The recorder comes first, so that the processes it follows have the same numbers in each daemon.
Result<> SessionControl::set_filters(const ConfiguredFilters& filters) {
  Session& output = p_.sessions.output();
  const FilterSettings recorder_before = filter_of(p_.sessions, p_.sessions.recorder());
  const OwnFilter output_before = output.own_filter;
  output.own_filter = filters.output.value_or(output_before);
  auto set = set_recorder_filter(filters.recorder);
  const char* key = set ? "stream.output.filter" : "filter";
  if (set && filters.output) set = apply_own_filter(output);
  if (set) return {};
  output.own_filter = output_before;
  static_cast<void>(set_recorder_filter(recorder_before));
  static_cast<void>(apply_own_filter(output));
  return std::unexpected(at_key(key, set.error()));
}

Result<> SessionControl::set_filter(Session& session, const FilterSettings& requested) {
  FilterSettings settings = requested;
  if (session.owner.own_only) settings.include.uid = {session.owner.uid};
  const auto change = p_.applier.begin_change();
  Result<> applied;
  if (session.is_recorder()) {
    applied = set_recorder_filter(settings);
  } else {
    applied = apply_filter(session.bit(), session.bit(), settings);
    if (applied) session.own_filter = OwnFilter::of(settings);
  }
  p_.applier.reconcile();  // following may have ended
  return applied;
}

void SessionControl::set_paused(Session& session, bool paused) {
  session.paused = paused;
  p_.applier.reconcile();
}

Result<> SessionControl::set_output(bool on) {
  Session& output = p_.sessions.output();
  if (on == output.has_sink) return {};
  if (!on) {
    Session* const stopped = &output;
    stop(std::span(&stopped, 1));
    drain_->close(SESSION_OUTPUT, Drain::Last::publish);
    p_.accounts.end(SESSION_OUTPUT);
    output.ring_bytes = 0;
    output.own_events.reset();
    output.own_filter = {};
    static_cast<void>(apply_own_filter(output));
    p_.applier.reconcile();  // following may have ended
    return {};
  }
  auto ring_bytes = ring_bytes_for({});
  if (!ring_bytes) return propagate(ring_bytes);
  p_.accounts.begin(SESSION_OUTPUT);
  if (auto opened = open_stream(output, *ring_bytes, publish_output_); !opened) return opened;
  output.has_sink = true;
  output.since_ns = boottime_ns();
  p_.applier.reconcile();
  return {};
}

Result<> SessionControl::adopt_output(bool on) {
  StreamRings rings(p_.object, SESSION_OUTPUT, budget_.ring_bytes, true);
  if (auto adopted = rings.adopt(); !adopted) return adopted;
  if (!on || rings.rings().empty()) {
    rings.retire();
    return {};
  }
  for (const uint32_t cpu : p_.rings.cpus())
    if (auto added = rings.add_cpu(cpu); !added) return added;
  Session& output = p_.sessions.output();
  output.ring_bytes = rings.ring_bytes();
  output.has_sink = true;
  output.since_ns = boottime_ns();
  p_.accounts.begin(SESSION_OUTPUT);
  const LostByCpu lost = p_.rings.resume_account(rings);
  return drain_->open(make_stream(std::move(rings), &p_.rings.account(), publish_output_), &lost);
}

size_t SessionControl::new_output_bytes(const RingBudget& budget) const {
  const size_t now = p_.sessions.output().ring_bytes, cpus = p_.rings.cpus().size();
  const size_t others = used_bytes() - now * cpus;  // its own share is free for it
  const size_t fitting = ring_share(budget, others, cpus, {}).value_or(now);
  return fitting == now ? 0 : fitting;
}

Result<> SessionControl::set_budget(const RingBudget& budget, bool keeps_output) {
  Session& output = p_.sessions.output();
  const size_t bytes = keeps_output && output.has_sink ? new_output_bytes(budget) : 0;
  if (bytes != 0) {
    if (auto resized = drain_->resize(SESSION_OUTPUT, bytes); !resized) return resized;
    p_.rings.counters().restart_stacks(SESSION_OUTPUT);
    output.ring_bytes = bytes;
  }
  budget_ = budget;
  return {};
}

// The reader lacks the stacks among them, and those of the events that follow.
uint64_t SessionControl::discard(uint32_t session) {
  const uint64_t unread = drain_->discard(session);
  p_.rings.counters().restart_stacks(session);
  return unread;
}

Result<SessionControl::Discarded> SessionControl::reset(const Session& session, bool keep_history) {
  Discarded discarded;
  if (!session.is_recorder()) {
    discarded.unread = discard(session.number);
    p_.accounts.reset(session.number);
    return discarded;
  }
  const bool empties = !keep_history && p_.rings.flight().enabled();
  if (empties) {
    auto history = p_.rings.empty_flight();
    if (!history) return propagate(history);
    discarded.history = *history;
  }
  for (const Session& other : p_.sessions.all())
    if (follows_recorder(other)) {
      discarded.unread += discard(other.number);
      p_.accounts.reset(other.number);
    }
  p_.accounts.reset_ended();
  p_.accounts.reset(SESSION_RECORDER, empties);
  return discarded;
}

void SessionControl::shut_down(bool persist) {
  self_.reset();
  std::vector<Session*> ending;
  for (Session& session : p_.sessions.all())
    if (session.is_client() || (session.number == SESSION_OUTPUT && !persist))
      ending.push_back(&session);
  stop(ending);
  for (const Session* session : ending)
    drain_->close(session->number, Drain::Last::publish,
                  session->is_client() ? last_records(session->number, "it was stopped")
                                       : std::vector<std::byte>());
  if (persist) drain_->close(SESSION_OUTPUT, Drain::Last::leave);
  drain_.reset();
}

}  // namespace ktraced
