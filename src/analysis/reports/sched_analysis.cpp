// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/sched_analysis.h"

#include <algorithm>
#include <string_view>

#include "analysis/coverage/event_fields.h"
#include "analysis/reports/evict.h"

namespace ktraced {
namespace {

// States of a thread that is still runnable: running, and ftrace's "preempted".
constexpr uint32_t kRunning = 0, kPreempted = 0x100;

// Thread ids and states have 32 bits.
uint32_t tid_of(const std::optional<Field>& field, RecordView record) {
  return static_cast<uint32_t>(value_or_zero(field, record));
}

uint64_t between(uint64_t begin, uint64_t end) { return end - std::min(begin, end); }

constexpr std::string_view kSchedEvents[] = {"sched_switch", "sched_wakeup", "sched_wakeup_new",
                                             "sched_migrate_task"};

}  // namespace

void SchedAnalysis::add_source(const Schema& schema, const NameTable& names) {
  sources_.push_back(
      {EventTable<Plan>(schema, [](const Event& event) { return plan_of(event); }), &names});
}

SchedAnalysis::Plan SchedAnalysis::plan_of(const Event& event) {
  Plan plan;
  if (event.name == "sched_switch")
    plan.kind = Plan::Kind::switched;
  else if (event.name == "sched_wakeup" || event.name == "sched_wakeup_new")
    plan.kind = Plan::Kind::woken;
  else if (event.name == "sched_migrate_task")
    plan.kind = Plan::Kind::migrated;
  else if (event.name == "sched_process_fork")
    plan.kind = Plan::Kind::forked;
  plan.of_current = ThreadCoverage::is_of_current(event);
  plan.prev_pid = field_named(event, "prev_pid");
  plan.prev_state = field_named(event, "prev_state");
  plan.next_pid = field_named(event, "next_pid");
  plan.pid = field_named(event, "pid");
  plan.parent_pid = field_named(event, "parent_pid");
  plan.child_pid = field_named(event, "child_pid");
  return plan;
}

void SchedAnalysis::on_record(const RecordOrigin& from, RecordView record) {
  if (losing_ != 0 && state_[from.cpu].losing) {
    state_[from.cpu].losing = false;
    --losing_;
    ++losses_;
  }
  const Source& source = sources_[from.source];
  const Plan* plan = source.plans.find(record.id());
  if (plan == nullptr) return;
  if (plan->of_current) coverage_.note(record.tid());
  if (plan->kind == Plan::Kind::switched)
    on_switch(*plan, from.cpu, record, *source.names);
  else if (plan->kind == Plan::Kind::woken)
    on_woken(tid_of(plan->pid, record), record.ts());
  else if (plan->kind == Plan::Kind::forked)
    coverage_.note_fork(tid_of(plan->parent_pid, record), tid_of(plan->child_pid, record),
                        record.ts(), *source.names);
  else if (plan->kind == Plan::Kind::migrated)
    ++rows_[row_of(tid_of(plan->pid, record), record.ts(), *source.names)].migrations;
}

void SchedAnalysis::on_loss(const LossItem& loss) {
  const Plan* plan = sources_[loss.source].plans.find(loss.event_id);
  if (plan == nullptr || plan->kind == Plan::Kind::other || plan->kind == Plan::Kind::forked)
    return;
  lost_ += loss.count;
  ++losses_;
  Cpu& cpu = state_[loss.cpu];
  if (!cpu.losing) ++losing_;
  cpu.losing = true;
  if (cpu.now) ++uncertain_;
  cpu.now.reset();
}

void SchedAnalysis::on_config_change(uint64_t /*ts*/, const TraceConfig& scope) {
  if (coverage_.change(scope, kSchedEvents)) lose_track();
}

// Current states may have changed unrecorded.
void SchedAnalysis::lose_track() {
  ++losses_;
  for (auto& [number, cpu] : state_) {
    if (cpu.now) ++uncertain_;
    cpu.now.reset();
  }
}

void SchedAnalysis::on_switch(const Plan& plan, uint32_t cpu, RecordView record,
                              const NameTable& names) {
  const uint32_t state = tid_of(plan.prev_state, record);
  const uint32_t prev = tid_of(plan.prev_pid, record), next = tid_of(plan.next_pid, record);
  if (cpus_[cpu].switches++ == 0) cpus_[cpu].first_ns = record.ts();
  coverage_.note_switch(prev, next, record.ts(), names);
  switch_out(prev, state == kRunning || state == kPreempted, cpu, record.ts(), names);
  switch_in(next, cpu, record.ts(), names);
}

void SchedAnalysis::switch_out(uint32_t tid, bool runnable, uint32_t cpu, uint64_t ts,
                               const NameTable& names) {
  Cpu& state = state_[cpu];
  if (state.now) {
    if (state.now->tid == tid && coverage_.has(tid, ts, names))
      ran(cpu, {tid, state.now->row, state.now->begin, ts});
    else if (coverage_.has(state.now->tid, ts, names))
      ++uncertain_;  // the switch away from it is missing
    state.now.reset();
  }
  if (tid == 0) return;
  SchedRow& row = rows_[row_of(tid, ts, names)];
  ++(runnable ? row.preempted : row.slept);
  waiting_.erase(tid);
  if (runnable) wait(tid, {.since = ts, .losses = losses_, .woken = false});
}

void SchedAnalysis::wait(uint32_t tid, const Waiting& waiting) {
  if (waiting_.size() >= max_waiting_)
    not_followed_ += evict_older_half(waiting_, [](const Waiting& each) { return each.since; });
  waiting_.try_emplace(tid, waiting);
}

// Counts a finished run, and stores it for the threads that waited meanwhile.
void SchedAnalysis::ran(uint32_t cpu, const Slice& slice) {
  const uint64_t ns = between(slice.begin, slice.end);
  (slice.tid == 0 ? cpus_[cpu].idle_ns : cpus_[cpu].busy_ns) += ns;
  if (slice.tid != 0) rows_[slice.row].on_cpu_ns += ns;
  Cpu& state = state_[cpu];
  state.slices[state.next_slice] = slice;
  state.next_slice = (state.next_slice + 1) % Cpu::kSlices;
}

void SchedAnalysis::switch_in(uint32_t tid, uint32_t cpu, uint64_t ts, const NameTable& names) {
  const bool whole = coverage_.has(tid, ts, names);
  const uint32_t number = tid == 0 ? 0 : row_of(tid, ts, names);
  state_[cpu].now = Slice{.tid = tid, .row = number, .begin = ts, .end = ts};
  state_[cpu].now_whole = whole;
  if (tid == 0) return;
  SchedRow& row = rows_[number];
  ++row.switched_in;
  row.measured |= whole;
  const auto found = waiting_.find(tid);
  if (found == waiting_.end()) return;
  const Waiting waiting = found->second;
  waiting_.erase(found);
  if (!whole) return;
  if (waiting.losses != losses_ || losing_ != 0) {
    ++uncertain_;
    return;
  }
  const uint64_t ns = between(waiting.since, ts);
  if (!waiting.woken) {
    row.preempted_ns += ns;
    return;
  }
  row.delay.add(ns);
  delays_.add(ns);
  note_long({.woken_ns = waiting.since, .ns = ns, .cpu = cpu, .tid = tid, .comm = row.comm}, names);
}

// A running or waiting thread is not woken from sleep.
void SchedAnalysis::on_woken(uint32_t tid, uint64_t ts) {
  if (tid == 0 || runs(tid)) return;
  wait(tid, {.since = ts, .losses = losses_, .woken = true});
}

bool SchedAnalysis::runs(uint32_t tid) const {
  return std::ranges::any_of(
      state_, [tid](const auto& cpu) { return cpu.second.now && cpu.second.now->tid == tid; });
}

void SchedAnalysis::note_long(SchedDelay delay, const NameTable& names) {
  if (!longest_.keeps(delay.ns)) return;
  name_instead(delay, names);
  longest_.add(std::move(delay));
}

// Finds the thread that ran on that CPU for most of the waiting time. Runs that are no longer
// stored, or that a filter rejected, may belong to other threads.
void SchedAnalysis::name_instead(SchedDelay& delay, const NameTable& names) const {
  const uint64_t end = delay.woken_ns + delay.ns;
  std::map<uint32_t, uint64_t> shares;
  for (const Slice& slice : state_.at(delay.cpu).slices) {
    const uint64_t share = between(std::max(slice.begin, delay.woken_ns), std::min(slice.end, end));
    if (share != 0) shares[slice.tid] += share;
  }
  const auto most = std::ranges::max_element(
      shares, [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == shares.end()) return;
  uint64_t known = 0;
  for (const auto& [tid, share] : shares) known += share;
  if (most->second < delay.ns - std::min(delay.ns, known)) return;
  delay.instead_tid = most->first;
  delay.instead_ns = most->second;
  const TaskName* task = names.task_at(most->first, end);
  delay.instead_comm = most->first == 0 ? "idle" : task != nullptr ? std::string(task->comm()) : "";
}

// The index of a thread's row.
uint32_t SchedAnalysis::row_of(uint32_t tid, uint64_t ts, const NameTable& names) {
  const TaskName* task = names.task_at(tid, ts);
  const auto number = threads_.number_of(tid, task != nullptr ? task->start_time : 0);
  if (!number) {
    if (!rows_.back().others) rows_.emplace_back().others = true;
    return static_cast<uint32_t>(rows_.size() - 1);
  }
  if (*number == rows_.size()) rows_.emplace_back().tid = tid;
  SchedRow& row = rows_[*number];
  if (task != nullptr) {
    row.pid = task->tgid;
    row.start_ns = task->start_time;
    if (row.comm != task->comm()) row.comm = task->comm();
  }
  return *number;
}

void SchedAnalysis::finish(uint64_t end_ns) {
  for (auto& [cpu, state] : state_) {
    if (state.now && state.now_whole)
      ran(cpu, {state.now->tid, state.now->row, state.now->begin, end_ns});
    state.now.reset();
  }
  for (auto& [number, cpu] : cpus_)
    cpu.unknown_ns = between(cpu.busy_ns + cpu.idle_ns, between(cpu.first_ns, end_ns));
}

}  // namespace ktraced
