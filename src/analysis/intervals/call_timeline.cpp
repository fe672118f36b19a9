// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/call_timeline.h"

#include <algorithm>

#include "analysis/coverage/event_fields.h"
#include "analysis/intervals/thread_calls.h"

namespace ktraced {
namespace {

constexpr std::string_view kCallEvents[] = {"sys_enter", "sys_exit"};

}  // namespace

void CallTimeline::add_source(const Schema& schema, const NameTable& names) {
  sources_.push_back(
      {EventTable<Plan>(schema, [](const Event& event) { return plan_of(event); }), &names});
}

CallTimeline::Plan CallTimeline::plan_of(const Event& event) {
  Plan plan;
  if (event.name == "sys_enter")
    plan.kind = Plan::Kind::enter;
  else if (event.name == "sys_exit")
    plan.kind = Plan::Kind::exit;
  else if (event.name == "sched_process_exit")
    plan.kind = Plan::Kind::death;
  else if (event.name == "sched_process_exec")
    plan.kind = Plan::Kind::exec;
  plan.nr = field_named(event, "nr");
  plan.abi = field_named(event, "abi");
  plan.ret = field_named(event, "ret");
  plan.old_thread = field_named(event, "old_pid");
  return plan;
}

void CallTimeline::on_record(const RecordOrigin& from, RecordView record) {
  if (!losing_.empty() && losing_.erase(from.cpu) != 0) ++losses_;
  const Source& source = sources_[from.source];
  const Plan* plan = source.plans.find(record.id());
  if (plan == nullptr || plan->kind == Plan::Kind::other) return;
  if (plan->kind == Plan::Kind::exit) return on_exit(*plan, record, *source.names);
  if (plan->kind == Plan::Kind::death) return on_death(record.tid(), record.ts());
  if (plan->kind == Plan::Kind::exec) return on_exec(*plan, record);
  if (running_.size() >= kMaxRunning) running_.clear();  // evicted threads have probably ended
  const Running call{.what = call_of(*plan, record), .since = record.ts(), .losses = losses_};
  if (!running_.insert_or_assign(record.tid(), call).second) ++uncertain_;
  name(record.tid(), record.ts(), *source.names);
}

void CallTimeline::on_loss(const LossItem& loss) {
  const Plan* plan = sources_[loss.source].plans.find(loss.event_id);
  if (plan == nullptr || (plan->kind != Plan::Kind::enter && plan->kind != Plan::Kind::exit))
    return;
  losing_.insert(loss.cpu);
  ++losses_;
}

// A new thread returns from the call that created it, which belongs to its parent.
bool CallTimeline::is_child_return(const Plan& plan, RecordView record) {
  const Call& call = calls_[call_of(plan, record)];
  return value_or_zero(plan.ret, record) == 0 && makes_thread(call.abi, call.nr);
}

// Calls that are running now may end unrecorded.
void CallTimeline::on_config_change(uint64_t /*ts*/, const TraceConfig& scope) {
  if (config_ && !scope.same_for(*config_, kCallEvents)) ++losses_;
  config_ = scope;
}

void CallTimeline::on_exit(const Plan& plan, RecordView record, const NameTable& names) {
  const auto begun = running_.find(record.tid());
  if (begun == running_.end()) {
    if (!is_child_return(plan, record)) ++uncertain_;
    return;
  }
  const Running call = begun->second;
  running_.erase(begun);
  const bool other_call =
      static_cast<int32_t>(value_or_zero(plan.nr, record)) != kSigreturnNumber &&
      call_of(plan, record) != call.what;
  // The end of one call and the beginning of the next may have been lost together.
  if (other_call || call.losses != losses_ || !losing_.empty()) {
    ++uncertain_;
    return;
  }
  add(record.tid(), call, record.ts());
  name(record.tid(), record.ts(), names);
}

// When a thread other than the main thread calls execve, it gets the main thread's id and returns
// under that id.
void CallTimeline::on_exec(const Plan& plan, RecordView record) {
  const auto old = static_cast<uint32_t>(value_or_zero(plan.old_thread, record));
  if (plan.old_thread) move_to_leader(running_, old, record.tid());
}

void CallTimeline::on_death(uint32_t tid, uint64_t ts) {
  const auto found = running_.find(tid);
  if (found == running_.end()) return;
  const Running call = found->second;
  running_.erase(found);
  if (call.losses == losses_ && losing_.empty())
    add(tid, call, ts);
  else
    ++uncertain_;
}

bool CallTimeline::never_returns(const Running& call) const {
  return ends_thread(calls_[call.what].abi, calls_[call.what].nr);
}

void CallTimeline::add(uint32_t tid, const Running& call, uint64_t end) {
  if (const auto lane = lane_of(tid))
    slices_.add(*lane, call.since, std::max(call.since, end), call.what);
  else
    ++other_calls_;
}

// A lane has the last name of its thread. A thread that reuses the id gets another lane.
void CallTimeline::name(uint32_t tid, uint64_t ts, const NameTable& names) {
  const TaskName* task = names.task_at(tid, ts);
  const auto known = lanes_.find(tid);
  if (task != nullptr && known != lanes_.end() && threads_[known->second].start_ns != 0 &&
      threads_[known->second].start_ns != task->start_time)
    lanes_.erase(known);
  const auto lane = lane_of(tid);
  if (!lane || task == nullptr) return;
  TimelineTask& thread = threads_[*lane];
  thread.pid = task->tgid;
  thread.start_ns = task->start_time;
  if (thread.comm != task->comm()) thread.comm = task->comm();
}

uint32_t CallTimeline::call_of(const Plan& plan, RecordView record) {
  const Call call{.abi = static_cast<uint32_t>(value_or_zero(plan.abi, record)),
                  .nr = static_cast<int32_t>(value_or_zero(plan.nr, record))};
  const auto [found, is_new] =
      call_index_.try_emplace({call.abi, call.nr}, static_cast<uint32_t>(calls_.size()));
  if (is_new) calls_.push_back(call);
  return found->second;
}

std::optional<uint32_t> CallTimeline::lane_of(uint32_t tid) {
  if (const auto found = lanes_.find(tid); found != lanes_.end()) return found->second;
  if (threads_.size() >= max_threads_) return std::nullopt;
  const auto lane = static_cast<uint32_t>(threads_.size());
  lanes_.emplace(tid, lane);
  threads_.push_back({.tid = tid, .comm = ""});
  return lane;
}

void CallTimeline::finish(uint64_t end_ns) {
  for (const auto& [tid, call] : running_) {
    if (call.losses == losses_ && !never_returns(call))
      add(tid, call, end_ns);
    else
      ++uncertain_;
  }
  running_.clear();
}

}  // namespace ktraced
