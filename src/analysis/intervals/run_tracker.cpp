// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/run_tracker.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "analysis/coverage/event_fields.h"

namespace ktraced {
namespace {

constexpr std::string_view kRunEvents[] = {"sched_switch"};

// Thread ids and states have 32 bits.
uint32_t number_in(const std::optional<Field>& field, RecordView record) {
  return static_cast<uint32_t>(value_or_zero(field, record));
}

}  // namespace

bool Switch::next_may_stop_cpu() const {
  constexpr std::string_view kStopper = "migration/";
  constexpr int32_t kHighestPrio = 0;
  if (next_prio != kHighestPrio || (next_task != nullptr && next_task->tgid != next)) return false;
  const std::string_view comm = next_task == nullptr ? std::string_view() : next_task->comm();
  return comm.starts_with(kStopper) && comm.substr(kStopper.size()) == std::to_string(cpu);
}

void RunTracker::add_source(const Schema& schema, const NameTable& names) {
  sources_.push_back(
      {EventTable<Plan>(schema, [](const Event& event) { return plan_of(event); }), &names});
}

RunTracker::Plan RunTracker::plan_of(const Event& event) {
  Plan plan{.of_current = ThreadCoverage::is_of_current(event),
            .prev_pid = field_named(event, "prev_pid"),
            .prev_state = field_named(event, "prev_state"),
            .next_pid = field_named(event, "next_pid"),
            .next_prio = field_named(event, "next_prio"),
            .parent_pid = field_named(event, "parent_pid"),
            .child_pid = field_named(event, "child_pid")};
  if (event.name == "sched_switch")
    plan.kind = Plan::Kind::switched;
  else if (event.name == "sched_process_fork")
    plan.kind = Plan::Kind::forked;
  return plan;
}

void RunTracker::on_record(const RecordOrigin& from, RecordView record) {
  const Source& source = sources_[from.source];
  const Plan* plan = source.plans.find(record.id());
  if (plan == nullptr) return;
  if (plan->of_current) coverage_.note(record.tid());
  if (plan->kind == Plan::Kind::switched)
    on_switch(*plan, from, record, *source.names);
  else if (plan->kind == Plan::Kind::forked)
    coverage_.note_fork(number_in(plan->parent_pid, record), number_in(plan->child_pid, record),
                        record.ts(), *source.names);
}

void RunTracker::on_switch(const Plan& plan, const RecordOrigin& from, RecordView record,
                           const NameTable& names) {
  const uint32_t number = from.cpu;
  Switch change{.cpu = number,
                .ts = record.ts(),
                .prev = number_in(plan.prev_pid, record),
                .prev_state = number_in(plan.prev_state, record),
                .next = number_in(plan.next_pid, record),
                .next_prio = int_or_zero(plan.next_prio, record),
                .stacks = record.stacks(),
                .names = names};
  if (change.prev != 0) change.prev_task = names.task_at(change.prev, change.ts);
  if (change.next != 0) change.next_task = names.task_at(change.next, change.ts);
  change.prev_selected = is_selected(from, record, change.prev);
  change.next_selected = is_selected(from, record, change.next);
  coverage_.note_switch(change.prev, change.next, change.ts, names);
  Cpu& cpu = cpus_[number];
  if (cpu.tid) {
    const Unknown unknown = end_of_run(cpu, change);
    if (unknown == Unknown::none) {
      RunInterval run = run_of(number, cpu, change.ts);
      run.selected = change.prev_selected;
      give_run(run);
    } else {
      interrupt(number, cpu, std::nullopt, unknown);
    }
  }
  if (!cpu.tid) give_unknown(number, cpu, change.ts);
  change.next_covered = coverage_.has(change.next, change.ts, names);
  cpu = {.tid = change.next,
         .end = !change.next_covered         ? Unknown::filter
                : change.next_may_stop_cpu() ? Unknown::unseen
                                             : Unknown::none,
         .selected = change.next_selected,
         .since = change.ts};
  for (RunSink* sink : sinks_) sink->on_switch(change);
}

// Why a switch from thread `prev` does not end the run of a CPU: another thread ran in between, or
// a thread that the filter rejects, so the switch between is not in the trace.
Unknown RunTracker::end_of_run(const Cpu& cpu, const Switch& change) const {
  if (!coverage_.has(*cpu.tid, change.ts, change.names)) return Unknown::filter;
  if (*cpu.tid != change.prev) return Unknown::unseen;
  const TaskName* task = change.prev_task;
  const bool is_younger = task != nullptr && task->start_time > cpu.since;
  return is_younger ? Unknown::unseen : Unknown::none;
}

void RunTracker::on_loss(const LossItem& loss) {
  const Plan* plan = sources_[loss.source].plans.find(loss.event_id);
  if (plan == nullptr || plan->kind != Plan::Kind::switched) return;
  // Before a loss nothing is missing. Before the beginning of a history, events may be missing.
  interrupt(loss.cpu, cpus_[loss.cpu], loss.count != 0 ? std::optional(loss.ts) : std::nullopt,
            Unknown::lost);
}

// It is unknown which threads run after the change. Up to the change it is known, unless tracing
// was paused, which is reported before.
void RunTracker::on_config_change(uint64_t ts, const TraceConfig& config) {
  if (!coverage_.change(config, kRunEvents)) return;
  for (auto& [number, cpu] : cpus_) interrupt(number, cpu, ts, Unknown::config_change);
}

// It is unknown what the CPU runs from `known_until` on, or, without it, since the last switch.
void RunTracker::interrupt(uint32_t number, Cpu& cpu, std::optional<uint64_t> known_until,
                           Unknown why) {
  if (!cpu.tid) return;
  const bool known = known_until && cpu.end == Unknown::none;
  const uint64_t end = known ? std::max(cpu.since, *known_until) : cpu.since;
  RunInterval run = run_of(number, cpu, end);
  run.known = known;
  run.then = why;
  give_run(run);
  cpu = {.tid = std::nullopt, .since = end, .why = why};
}

RunInterval RunTracker::run_of(uint32_t number, const Cpu& cpu, uint64_t end) {
  return {.cpu = number,
          .tid = *cpu.tid,
          .begin_ns = cpu.since,
          .end_ns = std::max(cpu.since, end),
          .selected = cpu.selected};
}

void RunTracker::give_run(const RunInterval& interval) {
  for (RunSink* sink : sinks_) sink->on_run(interval);
}

void RunTracker::give_unknown(uint32_t number, const Cpu& cpu, uint64_t end) {
  const UnknownInterval interval{
      .cpu = number, .begin_ns = cpu.since, .end_ns = std::max(cpu.since, end), .why = cpu.why};
  for (RunSink* sink : sinks_) sink->on_unknown(interval);
}

bool RunTracker::is_open(uint64_t ns) const {
  return std::ranges::any_of(
      cpus_, [ns](const auto& cpu) { return cpu.second.tid && cpu.second.since <= ns; });
}

void RunTracker::finish(uint64_t end_ns) {
  for (auto& [number, cpu] : cpus_) {
    if (cpu.tid && cpu.end == Unknown::none) {
      RunInterval run = run_of(number, cpu, end_ns);
      run.then = Unknown::trace_end;
      give_run(run);
      continue;
    }
    interrupt(number, cpu, std::nullopt, cpu.end);
    give_unknown(number, cpu, end_ns);
  }
  cpus_.clear();
}

}  // namespace ktraced
