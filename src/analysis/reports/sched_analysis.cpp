// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/sched_analysis.h"

#include <algorithm>
#include <ranges>
#include <string_view>
#include <utility>

#include "analysis/coverage/event_fields.h"
#include "analysis/intervals/evict.h"

namespace ktraced {
namespace {

uint64_t between(uint64_t begin, uint64_t end) { return end - std::min(begin, end); }

constexpr std::string_view kSchedEvents[] = {"sched_switch", "sched_wakeup", "sched_wakeup_new",
                                             "sched_migrate_task"};

}  // namespace

void SchedAnalysis::add_source(const Schema& schema, const NameTable& names) {
  runs_.add_source(schema, names);
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
  plan.pid = field_named(event, "pid");
  return plan;
}

void SchedAnalysis::on_record(const RecordOrigin& from, RecordView record) {
  runs_.on_record(from, record);
  continuity_.see(from.cpu);
  const Source& source = sources_[from.source];
  const Plan* plan = source.plans.find(record.id());
  if (plan == nullptr) return;
  if (plan->kind != Plan::Kind::woken && plan->kind != Plan::Kind::migrated) return;
  const auto tid = static_cast<uint32_t>(value_or_zero(plan->pid, record));
  if (plan->kind == Plan::Kind::woken)
    on_woken(tid, record.ts());
  else if (is_selected(from, record, tid))
    ++selected_row(row_of(tid, record.ts(), source.names->task_at(tid, record.ts()))).migrations;
}

void SchedAnalysis::set_selector(const RecordSelector& selector) {
  Analysis::set_selector(selector);
  runs_.set_selector(selector);
}

SchedRow& SchedAnalysis::selected_row(uint32_t index) {
  rows_[index].selected = true;
  return rows_[index];
}

void SchedAnalysis::on_loss(const LossItem& loss) {
  runs_.on_loss(loss);
  const Plan* plan = sources_[loss.source].plans.find(loss.event_id);
  if (plan == nullptr || plan->kind == Plan::Kind::other) return;
  lost_ += loss.count;
  continuity_.lose(loss.cpu);
}

// Threads may have been woken unrecorded.
void SchedAnalysis::on_config_change(uint64_t ts, const TraceConfig& config) {
  runs_.on_config_change(ts, config);
  if (config_ && !config.same_for(*config_, kSchedEvents))
    continuity_.interrupt(Unknown::config_change);
  config_ = config;
}

// Counts a finished run, and stores it for the threads that waited meanwhile.
void SchedAnalysis::on_run(const RunInterval& interval) {
  Cpu& state = cpu_of(interval.cpu);
  state.tid.reset();
  // A run that a gap has ended is not counted, not even the part before the gap.
  const bool whole = interval.then == Unknown::none || interval.then == Unknown::trace_end;
  if (!whole) {
    if (interval.then != Unknown::filter && interval.selected) ++uncertain_;
    return;
  }
  const uint64_t ns = interval.end_ns - interval.begin_ns;
  (interval.tid == 0 ? state.sums->idle_ns : state.sums->busy_ns) += ns;
  if (interval.tid != 0 && interval.selected) selected_row(state.row).on_cpu_ns += ns;
  store({interval.tid, interval.begin_ns, interval.end_ns}, state);
}

void SchedAnalysis::store(const Slice& slice, Cpu& cpu) {
  if (max_stored_ == 0) return;
  if (cpu.slices.size() >= cpu.many_slices) evict_unneeded(cpu);
  if (stored_ == max_stored_) {
    auto& most = std::ranges::max_element(state_, {}, [](const auto& each) {
                   return each.second.slices.size();
                 })->second.slices;
    const size_t evicted = (most.size() + 1) / 2;
    most.erase(most.begin(), most.begin() + static_cast<ptrdiff_t>(evicted));
    stored_ -= evicted;
  }
  cpu.slices.push_back(slice);
  ++stored_;
  looks_left_ += kLooks;
}

// Evicts the runs that ended before every wait that goes on. This looks at all waiting threads, so
// it is done again only after as many runs.
void SchedAnalysis::evict_unneeded(Cpu& cpu) {
  uint64_t since = UINT64_MAX;
  for (const auto& [tid, waiting] : waiting_) since = std::min(since, waiting.since);
  while (!cpu.slices.empty() && cpu.slices.front().end <= since) {
    cpu.slices.pop_front();
    --stored_;
  }
  cpu.many_slices = std::max(2 * cpu.slices.size(), kFewSlices + waiting_.size());
}

void SchedAnalysis::on_switch(const Switch& what) {
  continuity_.see(what.cpu);
  Cpu& cpu = cpu_of(what.cpu);
  if (cpu.sums->switches++ == 0) cpu.sums->first_ns = what.ts;
  if (what.prev != 0) switch_out(what);
  switch_in(what, cpu);
}

SchedAnalysis::Cpu& SchedAnalysis::cpu_of(uint32_t number) {
  Cpu& cpu = state_[number];
  if (cpu.sums == nullptr) cpu.sums = &cpus_[number];
  return cpu;
}

void SchedAnalysis::switch_out(const Switch& what) {
  const bool runnable = what.prev_runnable();
  if (what.prev_selected) {
    SchedRow& row = selected_row(row_of(what.prev, what.ts, what.prev_task));
    ++(runnable ? row.preempted : row.slept);
  }
  end_of_wait(what.prev);
  if (runnable) wait(what.prev, {.since = what.ts, .gaps = continuity_.now(), .woken = false});
}

void SchedAnalysis::wait(uint32_t tid, const Waiting& waiting) {
  if (waiting_.size() >= max_waiting_)
    not_followed_ += evict_older_half(waiting_, [](const Waiting& each) { return each.since; });
  if (spare_.empty()) {
    waiting_.try_emplace(tid, waiting);
    return;
  }
  spare_.key() = tid;
  spare_.mapped() = waiting;
  spare_ = waiting_.insert(std::move(spare_)).node;
}

// Removes a waiting thread; nothing if it is none.
std::optional<SchedAnalysis::Waiting> SchedAnalysis::end_of_wait(uint32_t tid) {
  const auto found = waiting_.find(tid);
  if (found == waiting_.end()) return std::nullopt;
  spare_ = waiting_.extract(found);
  return spare_.mapped();
}

void SchedAnalysis::switch_in(const Switch& what, Cpu& cpu) {
  cpu.tid = what.next;
  if (what.next == 0) return;
  cpu.row = row_of(what.next, what.ts, what.next_task);
  const auto waiting = end_of_wait(what.next);
  rows_[cpu.row].measured |= what.next_covered;
  if (!what.next_selected) return;
  SchedRow& row = selected_row(cpu.row);
  ++row.switched_in;
  if (waiting && what.next_covered) end_wait(*waiting, what, row);
}

void SchedAnalysis::end_wait(const Waiting& waiting, const Switch& what, SchedRow& row) {
  const Unknown unknown = continuity_.broken_since(waiting.gaps);
  for (WaitSink* sink : sinks_)
    sink->on_wait({.begin_ns = waiting.since,
                   .end_ns = what.ts,
                   .woken = waiting.woken,
                   .cpu = what.cpu,
                   .tid = what.next,
                   .task = what.next_task,
                   .unknown = unknown,
                   .names = what.names});
  if (unknown != Unknown::none) {
    ++uncertain_;
    return;
  }
  const uint64_t ns = between(waiting.since, what.ts);
  if (!waiting.woken) {
    row.preempted_ns += ns;
    return;
  }
  row.delay.add(ns);
  delays_.add(ns);
  note_long(
      {.woken_ns = waiting.since, .ns = ns, .cpu = what.cpu, .tid = what.next, .comm = row.comm},
      what.names);
}

// A running or waiting thread is not woken from sleep.
void SchedAnalysis::on_woken(uint32_t tid, uint64_t ts) {
  if (tid == 0 || runs(tid)) return;
  wait(tid, {.since = ts, .gaps = continuity_.now(), .woken = true});
}

bool SchedAnalysis::runs(uint32_t tid) const {
  return std::ranges::any_of(state_, [tid](const auto& cpu) { return cpu.second.tid == tid; });
}

void SchedAnalysis::note_long(SchedDelay delay, const NameTable& names) {
  if (!longest_.keeps(delay.ns)) return;
  name_instead(delay, names);
  longest_.add(std::move(delay));
}

std::map<uint32_t, uint64_t> SchedAnalysis::ran_on(uint32_t cpu, uint64_t begin_ns,
                                                   uint64_t end_ns) {
  std::map<uint32_t, uint64_t> shares;
  const auto state = state_.find(cpu);
  if (state == state_.end()) return shares;
  size_t looks = 0;
  for (const Slice& slice : state->second.slices | std::views::reverse) {
    if (slice.end <= begin_ns) break;
    if (++looks > kLooks) {
      if (looks_left_ == 0) break;
      --looks_left_;
    }
    const uint64_t share = between(std::max(slice.begin, begin_ns), std::min(slice.end, end_ns));
    if (share != 0) shares[slice.tid] += share;
  }
  return shares;
}

// Finds the thread that ran on that CPU for most of the waiting time. Runs that are no longer
// stored, or that a filter rejected, may belong to other threads.
void SchedAnalysis::name_instead(SchedDelay& delay, const NameTable& names) {
  const uint64_t end = delay.woken_ns + delay.ns;
  const auto shares = ran_on(delay.cpu, delay.woken_ns, end);
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
uint32_t SchedAnalysis::row_of(uint32_t tid, uint64_t ts, const TaskName* task) {
  const auto number = threads_.number_of(tid, task != nullptr ? task->start_time : 0);
  if (!number) {
    if (!rows_.back().others) rows_.emplace_back().others = true;
    return static_cast<uint32_t>(rows_.size() - 1);
  }
  if (*number == rows_.size()) rows_.push_back({.tid = tid, .first_ns = ts, .comm = {}});
  SchedRow& row = rows_[*number];
  if (task != nullptr) {
    row.pid = task->tgid;
    row.start_ns = task->start_time;
    if (row.comm != task->comm()) row.comm = task->comm();
  }
  return *number;
}

bool SchedAnalysis::is_waiting(uint64_t ns) const {
  return std::ranges::any_of(waiting_,
                             [ns](const auto& entry) { return entry.second.since <= ns; });
}

void SchedAnalysis::finish(uint64_t end_ns) {
  runs_.finish(end_ns);
  for (auto& [number, cpu] : cpus_)
    cpu.unknown_ns = between(cpu.busy_ns + cpu.idle_ns, between(cpu.first_ns, end_ns));
  std::erase_if(cpus_, [this](const auto& cpu) { return !selects_cpu(cpu.first); });
  std::erase_if(rows_, [](const SchedRow& row) { return !row.selected; });
}

}  // namespace ktraced
