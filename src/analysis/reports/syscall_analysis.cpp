// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/syscall_analysis.h"

#include <algorithm>
#include <string_view>

#include "analysis/coverage/event_fields.h"
#include "analysis/intervals/thread_calls.h"
#include "analysis/reports/evict.h"

namespace ktraced {
namespace {

constexpr std::string_view kSyscallEvents[] = {"sys_enter", "sys_exit", "sched_process_exit"};

uint64_t call_key(uint32_t abi, int32_t nr) {
  return uint64_t{abi & 3} << 30 | (static_cast<uint32_t>(nr) & 0x1fffffff);
}

}  // namespace

void SyscallAnalysis::add_source(const Schema& schema, const NameTable& names) {
  sources_.push_back(
      {EventTable<Plan>(schema, [](const Event& event) { return plan_of(event); }), &names});
}

SyscallAnalysis::Plan SyscallAnalysis::plan_of(const Event& event) {
  Plan plan;
  if (event.name == "sys_enter")
    plan.kind = Plan::Kind::enter;
  else if (event.name == "sys_exit")
    plan.kind = Plan::Kind::exit;
  else if (event.name == "sched_process_exec")
    plan.kind = Plan::Kind::exec;
  else if (event.name == "sched_process_exit")
    plan.kind = Plan::Kind::thread_end;
  plan.nr = field_named(event, "nr");
  plan.abi = field_named(event, "abi");
  plan.args = field_named(event, "args");
  plan.ret = field_named(event, "ret");
  plan.old_pid = field_named(event, "old_pid");
  return plan;
}

void SyscallAnalysis::on_record(const RecordOrigin& from, RecordView record) {
  if (!losing_.empty() && losing_.erase(from.cpu) != 0) ++losses_;
  const Source& source = sources_[from.source];
  const Plan* plan = source.plans.find(record.id());
  if (plan == nullptr) return;
  switch (plan->kind) {
    case Plan::Kind::enter:
      return on_enter(*plan, record, *source.names);
    case Plan::Kind::exit:
      return on_exit(*plan, record, *source.names);
    case Plan::Kind::exec:
      return on_exec(*plan, record);
    case Plan::Kind::thread_end:
      return on_thread_end(record.tid());
    case Plan::Kind::other:
      break;
  }
}

void SyscallAnalysis::on_loss(const LossItem& loss) {
  const Plan* plan = sources_[loss.source].plans.find(loss.event_id);
  if (plan == nullptr) return;
  if (plan->kind != Plan::Kind::enter && plan->kind != Plan::Kind::exit) return;
  lost_ += loss.count;
  losing_.insert(loss.cpu);
  ++losses_;
}

// Running calls may end, and others begin, unrecorded.
void SyscallAnalysis::on_config_change(uint64_t /*ts*/, const TraceConfig& scope) {
  if (config_ && !scope.same_for(*config_, kSyscallEvents)) ++losses_;
  config_ = scope;
}

void SyscallAnalysis::on_enter(const Plan& plan, RecordView record, const NameTable& names) {
  Running call{.ts = record.ts(),
               .abi = static_cast<uint32_t>(value_or_zero(plan.abi, record)),
               .nr = static_cast<int32_t>(value_or_zero(plan.nr, record)),
               .losses = losses_};
  for (size_t i = 0; i < call.args.size(); ++i) call.args[i] = value_or_zero(plan.args, record, i);
  if (running_.erase(record.tid()) != 0) ++end_unseen_;
  if (ends_thread(call.abi, call.nr)) {
    ++ended_;
    return count(call, record, names, 0, std::nullopt);
  }
  if (running_.size() >= max_running_)
    not_followed_ += evict_older_half(running_, [](const Running& each) { return each.ts; });
  running_.emplace(record.tid(), call);
}

// A thread other than the main thread becomes the main thread, with its id, before it returns.
void SyscallAnalysis::on_exec(const Plan& plan, RecordView record) {
  const auto old_tid = static_cast<uint32_t>(value_or_zero(plan.old_pid, record));
  if (plan.old_pid) move_to_leader(running_, old_tid, record.tid());
}

void SyscallAnalysis::on_thread_end(uint32_t tid) {
  if (running_.erase(tid) != 0) ++killed_;
}

bool SyscallAnalysis::is_child_return(const Running& call, int64_t ret) {
  return ret == 0 && makes_thread(call.abi, call.nr);
}

void SyscallAnalysis::on_exit(const Plan& plan, RecordView record, const NameTable& names) {
  auto ret = static_cast<int64_t>(value_or_zero(plan.ret, record));
  Running call{.abi = static_cast<uint32_t>(value_or_zero(plan.abi, record)),
               .nr = static_cast<int32_t>(value_or_zero(plan.nr, record))};
  if (is_child_return(call, ret)) {
    ++child_returns_;
    if (running_.erase(record.tid()) != 0) ++end_unseen_;  // of the previous thread with this id
    return;
  }
  const bool sigreturn = call.nr == kSigreturnNumber;
  const std::optional<uint64_t> ns = end_of(call, record);
  if (sigreturn) ret = 0;  // belongs to the interrupted call
  count(call, record, names, ret, ns);
  if (ns) note_slow(call, record, ret, *ns, names);
}

// Completes `call` with the data of its beginning. Returns its duration, if known.
std::optional<uint64_t> SyscallAnalysis::end_of(Running& call, RecordView record) {
  const auto begun = running_.find(record.tid());
  if (begun == running_.end()) {
    ++begun_before_;
    return std::nullopt;
  }
  const Running running = begun->second;
  running_.erase(begun);
  if (call.nr != kSigreturnNumber && (running.nr != call.nr || running.abi != call.abi)) {
    // The exit belongs to another call, whose beginning is missing, as is the end of the first one.
    ++begun_before_;
    ++end_unseen_;
    return std::nullopt;
  }
  call = running;
  // The end of one call and the beginning of the next may have been lost together.
  if (call.losses != losses_ || !losing_.empty()) {
    ++uncertain_;
    return std::nullopt;
  }
  return record.ts() - std::min(record.ts(), call.ts);
}

SyscallRow& SyscallAnalysis::row_of(Table& table, uint64_t key) {
  if (const auto found = table.index.find(key); found != table.index.end())
    return table.rows[found->second];
  if (table.rows.size() >= kMaxRows) {
    if (!table.rows.back().others) table.rows.emplace_back().others = true;
    return table.rows.back();
  }
  table.index.emplace(key, static_cast<uint32_t>(table.rows.size()));
  return table.rows.emplace_back();
}

void SyscallAnalysis::count(const Running& call, RecordView record, const NameTable& names,
                            int64_t ret, std::optional<uint64_t> ns) {
  const Actor actor = actor_of(record, names);
  // More processes than this also mean too many rows.
  const uint64_t number = processes_.of(actor).value_or(UINT32_MAX);
  SyscallRow& row = row_of(by_process_, number << 32 | call_key(call.abi, call.nr));
  if (!row.others) {
    if (actor.start_ns != 0) row.start_ns = actor.start_ns;
    row.pid = actor.id;
    row.pid_known = actor.known;
    actor.name(row.comm);
  }
  count(row, call, ret, ns);
  count(row_of(by_call_, call_key(call.abi, call.nr)), call, ret, ns);
}

void SyscallAnalysis::count(SyscallRow& row, const Running& call, int64_t ret,
                            std::optional<uint64_t> ns) {
  if (!row.others) {
    row.abi = call.abi;
    row.nr = call.nr;
  }
  ++row.calls;
  if (is_error_result(ret)) {
    ++row.failed;
    ++row.errors[static_cast<int32_t>(-ret)];
  }
  if (ns) row.ns.add(*ns);
}

void SyscallAnalysis::note_slow(const Running& call, RecordView record, int64_t ret, uint64_t ns,
                                const NameTable& names) {
  if (!slowest_.keeps(ns)) return;
  const TaskName* task = names.task_at(record.tid(), record.ts());
  slowest_.add({.begin_ns = call.ts,
                .ns = ns,
                .tid = record.tid(),
                .comm = task != nullptr ? std::string(task->comm()) : "",
                .abi = call.abi,
                .nr = call.nr,
                .args = call.args,
                .ret = ret});
}

}  // namespace ktraced
