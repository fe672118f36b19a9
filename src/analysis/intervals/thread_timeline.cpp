// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/thread_timeline.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "analysis/coverage/event_fields.h"

namespace ktraced {
namespace {

constexpr std::string_view kStateEvents[] = {"sched_switch", "sched_wakeup", "sched_wakeup_new"};

}  // namespace

void ThreadTimeline::add_source(const Schema& schema, const NameTable& names) {
  auto plan_of = [](const Event& event) {
    Plan plan{.pid = field_named(event, "pid")};
    if (event.name == "sched_switch") plan.kind = Plan::Kind::switched;
    if (event.name == "sched_wakeup" || event.name == "sched_wakeup_new")
      plan.kind = Plan::Kind::woken;
    return plan;
  };
  sources_.push_back({EventTable<Plan>(schema, plan_of), &names});
}

void ThreadTimeline::on_record(const RecordOrigin& from, RecordView record) {
  continuity_.see(from.cpu);
  const Source& source = sources_[from.source];
  const Plan* plan = source.plans.find(record.id());
  if (plan == nullptr || plan->kind != Plan::Kind::woken) return;
  wakeups_ = true;
  const auto tid = static_cast<uint32_t>(value_or_zero(plan->pid, record));
  if (tid == 0) return;
  if (!is_selected(from, record, tid)) return leave(tid);
  name(tid, source.names->task_at(tid, record.ts()));
  on_woken(tid, record.ts());
}

// A thread that runs or is runnable already is not woken from sleep.
void ThreadTimeline::on_woken(uint32_t tid, uint64_t ts) {
  const auto lane = lane_of(tid);
  if (!lane || now_[*lane].runs) return;
  auto& off = now_[*lane].off;
  if (!off) off = OffCpu{.since = ts, .runnable = {}, .gaps = continuity_.now()};
  if (!off->runnable) off->runnable = ts;
}

// What a thread does is not known any more: the selection leaves out how it goes on.
void ThreadTimeline::leave(uint32_t tid) {
  if (const auto found = lanes_.find(tid); found != lanes_.end()) now_[found->second].off.reset();
}

void ThreadTimeline::on_loss(const LossItem& loss) {
  const Plan* plan = sources_[loss.source].plans.find(loss.event_id);
  if (plan != nullptr && plan->kind != Plan::Kind::other) continuity_.lose(loss.cpu);
}

void ThreadTimeline::on_config_change(uint64_t /*ts*/, const TraceConfig& config) {
  if (config_ && !config.same_for(*config_, kStateEvents)) {
    continuity_.interrupt(Unknown::config_change);
    wakeups_ = false;
  }
  config_ = config;
}

void ThreadTimeline::on_run(const RunInterval& interval) {
  if (interval.tid == 0) return;
  const auto found = lanes_.find(interval.tid);
  if (found == lanes_.end()) return;
  now_[found->second].runs = false;
  if (!interval.known || !interval.selected) return;
  threads_[found->second].ran_ns += interval.end_ns - interval.begin_ns;
  add_state(found->second, interval.begin_ns, interval.end_ns, ThreadState::running);
}

void ThreadTimeline::on_switch(const Switch& what) {
  if (const auto prev = lanes_.find(what.prev); prev != lanes_.end()) {
    Now& now = now_[prev->second];
    now.off.reset();
    now.runs = false;
    if (what.prev_selected && !what.prev_ended()) {
      now.off = OffCpu{.since = what.ts, .runnable = {}, .gaps = continuity_.now()};
      if (what.prev_runnable()) now.off->runnable = what.ts;
    }
  }
  if (what.next == 0) return;
  if (!what.next_selected) return leave(what.next);
  name(what.next, what.next_task);
  const auto lane = lane_of(what.next);
  if (!lane) return;
  Now& now = now_[*lane];
  if (now.off && now.off->runnable && what.next_covered) add_off_cpu(*lane, *now.off, what.ts);
  now = {.runs = true, .covered = what.next_covered, .off = {}};
}

void ThreadTimeline::add_state(uint32_t lane, uint64_t begin_ns, uint64_t end_ns,
                               ThreadState state) {
  if (begin_ns < end_ns) states_.add(lane, begin_ns, end_ns, static_cast<uint32_t>(state));
}

// A thread slept until it was runnable.
void ThreadTimeline::add_off_cpu(uint32_t lane, const OffCpu& off, uint64_t end_ns) {
  if (continuity_.broken_since(off.gaps) != Unknown::none) return;
  const uint64_t runnable = off.runnable.value_or(end_ns);
  add_state(lane, off.since, runnable, ThreadState::sleeping);
  add_state(lane, runnable, end_ns, ThreadState::runnable);
}

// Without wake-ups it is not known whether a thread still sleeps. One that is runnable stays so
// until it runs.
void ThreadTimeline::finish(uint64_t end_ns) {
  for (uint32_t lane = 0; lane < now_.size(); ++lane) {
    const Now& now = now_[lane];
    if (now.off && now.covered && (wakeups_ || now.off->runnable))
      add_off_cpu(lane, *now.off, end_ns);
  }
}

void ThreadTimeline::on_begin(const Call& /*call*/, const CallRecord& at, Unknown /*unknown*/) {
  const uint32_t tid = at.record.tid();
  name(tid, at.names.task_at(tid, at.record.ts()));
}

void ThreadTimeline::on_end(const CallInterval& interval) {
  if (interval.end == CallEnd::child_returned || !interval.selected()) return;
  const bool is_dead = interval.end == CallEnd::trace_ended && interval.call->never_returns;
  if (!interval.known() || is_dead) {
    ++uncertain_;
    return;
  }
  add(interval);
  if (interval.returned != nullptr) name(interval.tid, interval.returned->at.task);
}

void ThreadTimeline::add(const CallInterval& interval) {
  const Call& call = *interval.call;
  const auto lane = lane_of(interval.tid);
  if (!lane) {
    ++other_calls_;
    return;
  }
  ++threads_[*lane].calls;
  calls_.add(*lane, call.begin_ns, std::max(call.begin_ns, interval.end_ns), index_of(call));
}

// A lane has the last name of its thread. A thread that reuses the id gets another lane.
void ThreadTimeline::name(uint32_t tid, const TaskName* task) {
  const auto known = lanes_.find(tid);
  if (task != nullptr && known != lanes_.end() && threads_[known->second].task.start_ns != 0 &&
      threads_[known->second].task.start_ns != task->start_time) {
    now_[known->second] = {};
    lanes_.erase(known);
  }
  const auto lane = lane_of(tid);
  if (!lane || task == nullptr) return;
  TimelineTask& thread = threads_[*lane].task;
  thread.pid = task->tgid;
  thread.start_ns = task->start_time;
  if (thread.comm != task->comm()) thread.comm = task->comm();
}

uint32_t ThreadTimeline::index_of(const Call& call) {
  const auto [found, is_new] =
      kind_index_.try_emplace({call.abi, call.nr}, static_cast<uint32_t>(kinds_.size()));
  if (is_new) kinds_.push_back({.abi = call.abi, .nr = call.nr});
  return found->second;
}

std::optional<uint32_t> ThreadTimeline::lane_of(uint32_t tid) {
  if (const auto found = lanes_.find(tid); found != lanes_.end()) return found->second;
  if (threads_.size() >= max_threads_) return std::nullopt;
  const auto lane = static_cast<uint32_t>(threads_.size());
  lanes_.emplace(tid, lane);
  threads_.push_back({.task = {.tid = tid, .comm = ""}});
  now_.emplace_back();
  return lane;
}

}  // namespace ktraced
