// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/call_tracker.h"

#include <algorithm>
#include <utility>

#include "analysis/coverage/event_fields.h"
#include "analysis/intervals/evict.h"

namespace ktraced {
namespace {

// Without the ends of threads, the calls in which they end would seem to go on.
constexpr std::string_view kCallEvents[] = {"sys_enter", "sys_exit", "sched_process_exit"};

}  // namespace

void CallTracker::add_source(const Schema& schema, const NameTable& names) {
  sources_.push_back(
      {EventTable<Plan>(schema, [](const Event& event) { return plan_of(event); }), &names});
}

CallTracker::Plan CallTracker::plan_of(const Event& event) {
  Plan plan;
  if (event.name == "sys_enter")
    plan.kind = Plan::Kind::enter;
  else if (event.name == "sys_exit")
    plan.kind = Plan::Kind::exit;
  else if (event.name == "sys_completed")
    plan.kind = Plan::Kind::completed;
  else if (event.name == "sched_process_exec")
    plan.kind = Plan::Kind::exec;
  else if (event.name == "sched_process_exit")
    plan.kind = Plan::Kind::thread_end;
  plan.nr = field_named(event, "nr");
  plan.abi = field_named(event, "abi");
  plan.args = field_named(event, "args");
  plan.args_known = field_named(event, "args_known");
  plan.ret = field_named(event, "ret");
  plan.duration = field_named(event, "duration");
  plan.old_pid = field_named(event, "old_pid");
  return plan;
}

void CallTracker::on_record(const RecordOrigin& from, RecordView record) {
  continuity_.see(from.cpu);
  const Source& source = sources_[from.source];
  const Plan* plan = source.plans.find(record.id());
  if (plan == nullptr || plan->kind == Plan::Kind::other) return;
  const CallRecord at{.from = from, .record = record, .names = *source.names};
  switch (plan->kind) {
    case Plan::Kind::enter:
      return on_enter(*plan, at);
    case Plan::Kind::exit:
      return on_exit(*plan, at);
    case Plan::Kind::completed:
      return on_completed(*plan, at);
    case Plan::Kind::exec:
      return on_exec(*plan, record);
    case Plan::Kind::thread_end:
      return on_thread_end(record);
    case Plan::Kind::other:
      break;
  }
}

void CallTracker::skip(const RecordOrigin& from, RecordView record) {
  see(from.cpu);
  const Plan* plan = sources_[from.source].plans.find(record.id());
  if (plan == nullptr || plan->kind != Plan::Kind::enter) return;
  if (const auto found = threads_.find(record.tid()); found != threads_.end())
    found->second.has_begun = false;
}

void CallTracker::on_loss(const LossItem& loss) {
  const Plan* plan = sources_[loss.source].plans.find(loss.event_id);
  if (plan == nullptr || !plan->is_call()) return;
  lost_ += loss.count;
  lose(loss.cpu, loss.ts);
}

void CallTracker::lose(uint32_t cpu, uint64_t ts) {
  continuity_.lose(cpu);
  for (CallSink* sink : sinks_) sink->on_interrupt(ts, Unknown::lost);
}

// Running calls may end, and others begin, unrecorded.
void CallTracker::interrupt(uint64_t ts, Unknown why) {
  continuity_.interrupt(why);
  for (CallSink* sink : sinks_) sink->on_interrupt(ts, why);
}

void CallTracker::on_config_change(uint64_t ts, const TraceConfig& config) {
  if (config_ && !config.same_for(*config_, kCallEvents)) interrupt(ts, Unknown::config_change);
  config_ = config;
  if (config.missed.contains("sys_enter")) miss_beginnings();
  completed_ = completed_ || (config.events && config.events->contains("sys_completed"));
}

void CallTracker::on_enter(const Plan& plan, const CallRecord& at) {
  const RecordView record = at.record;
  if (threads_.size() >= max_threads_) make_room(record.ts());
  Thread& thread = threads_[record.tid()];
  thread.last = {};
  if (thread.in_call) end(record.tid(), thread, CallEnd::unseen, record.ts());
  Call& call = thread.call;
  call.abi = static_cast<uint32_t>(value_or_zero(plan.abi, record));
  call.nr = static_cast<int32_t>(value_or_zero(plan.nr, record));
  call.begin_ns = record.ts();
  call.args_known = true;
  for (size_t i = 0; i < call.args.size(); ++i) call.args[i] = value_or_zero(plan.args, record, i);
  call.never_returns = kinds_.of(call.abi, call.nr) == CallKind::ends_thread;
  call.met = met(at.from, record);
  thread.since = continuity_.now();
  thread.in_call = true;
  thread.has_begun = true;
  const Unknown unknown = continuity_.broken_since(thread.since);
  for (CallSink* sink : sinks_) sink->on_begin(call, at, unknown);
}

void CallTracker::make_room(uint64_t ts) {
  std::erase_if(threads_, [](const auto& entry) { return !entry.second.in_call; });
  if (threads_.size() <= max_threads_ / 2) return;
  evict_older_half(
      threads_, [](const Thread& thread) { return thread.call.begin_ns; },
      [&](uint32_t tid, const Thread& thread) {
        give({.tid = tid,
              .call = &thread.call,
              .end = CallEnd::not_followed,
              .end_ns = ts,
              .unknown = Unknown::evicted});
      });
}

CallTracker::Thread& CallTracker::thread_of(RecordView record) {
  if (threads_.size() >= max_threads_ && !threads_.contains(record.tid())) make_room(record.ts());
  return threads_[record.tid()];
}

CallReturn CallTracker::return_of(const Plan& plan, const CallRecord& at) const {
  return {.abi = static_cast<uint32_t>(value_or_zero(plan.abi, at.record)),
          .nr = static_cast<int32_t>(value_or_zero(plan.nr, at.record)),
          .ret = static_cast<int64_t>(value_or_zero(plan.ret, at.record)),
          .at = at,
          .met = met(at.from, at.record)};
}

// Sigreturn leaves another number at its exit.
bool CallTracker::is_end_of(const Call& call, const CallReturn& returned) {
  if (returned.nr == kSigreturnNumber && is_sigreturn(call)) return true;
  return call.nr == returned.nr && call.abi == returned.abi;
}

// A call that is skipped leaves the same number as sigreturn. It has that number at its beginning
// too, or it has no beginning, which is certain if no beginning is missing since the last one.
bool CallTracker::has_result(const Thread& thread, const CallReturn& returned) {
  if (has_own_result(returned.nr)) return true;
  if (!thread.has_begun || continuity_.broken_since(thread.since) != Unknown::none) return false;
  if (!is_same_thread(thread, returned)) return false;
  if (thread.in_call && thread.call.nr == returned.nr) return true;
  return !beginnings_missed_ && !(thread.in_call && is_sigreturn(thread.call));
}

bool CallTracker::is_same_thread(const Thread& thread, const CallReturn& returned) {
  const TaskName* task = returned.at.task;
  return task == nullptr || task->start_time <= thread.call.begin_ns;
}

bool CallTracker::take_last(Thread& thread, LastEnd::By by, const CallReturn& returned,
                            uint64_t begin_ns) {
  const LastEnd last = std::exchange(thread.last, {});
  return last.by == by && last.nr == returned.nr && last.ret == returned.ret && begin_ns <= last.ns;
}

void CallTracker::on_exit(const Plan& plan, CallRecord at) {
  const RecordView record = at.record;
  const uint32_t tid = record.tid();
  at.task = at.names.task_at(tid, record.ts());
  CallReturn returned = return_of(plan, at);
  Thread& thread = thread_of(record);
  if (take_last(thread, LastEnd::By::completed, returned, 0)) return;
  returned.is_result = has_result(thread, returned);
  thread.last = {LastEnd::By::exit, returned.nr, returned.ret, record.ts()};
  const bool of_child = is_of_child(returned);
  if (of_child) end(tid, CallEnd::unseen, record.ts());  // of the previous thread with this id
  if (!thread.in_call)
    return give({.tid = tid,
                 .end = of_child ? CallEnd::child_returned : CallEnd::returned,
                 .returned = &returned,
                 .end_ns = record.ts(),
                 .unknown = Unknown::unseen});
  const bool own = is_end_of(thread.call, returned) && is_same_thread(thread, returned);
  end(tid, thread, own ? CallEnd::returned : CallEnd::other_returned, record.ts(), &returned);
}

void CallTracker::on_completed(const Plan& plan, CallRecord at) {
  const RecordView record = at.record;
  const uint32_t tid = record.tid();
  completed_ = true;
  at.task = at.names.task_at(tid, record.ts());
  CallReturn returned = return_of(plan, at);
  const uint64_t duration = value_or_zero(plan.duration, record);
  const bool known = duration <= record.ts();  // not if it is negative
  const uint64_t begin = known ? record.ts() - duration : 0;
  Thread& thread = thread_of(record);
  if (take_last(thread, LastEnd::By::exit, returned, begin)) return;
  returned.is_result = has_result(thread, returned);
  thread.last = {LastEnd::By::completed, returned.nr, returned.ret, record.ts()};
  if (thread.in_call && is_end_of(thread.call, returned))
    return end(tid, thread, CallEnd::returned, record.ts(), &returned);
  if (thread.in_call) end(tid, thread, CallEnd::unseen, record.ts());
  if (known && !is_of_child(returned)) return give_completed(thread, plan, returned);
  give({.tid = tid,
        .end = is_of_child(returned) ? CallEnd::child_returned : CallEnd::returned,
        .returned = &returned,
        .end_ns = record.ts(),
        .unknown = Unknown::unseen});
}

// The whole call. Nothing that was lost meanwhile makes it uncertain.
void CallTracker::give_completed(Thread& thread, const Plan& plan, const CallReturn& returned) {
  const RecordView record = returned.at.record;
  Call& call = thread.call;
  call = {.abi = returned.abi,
          .nr = returned.is_result ? returned.nr : sigreturn_of(returned.abi),
          .begin_ns = record.ts() - value_or_zero(plan.duration, record),
          .args_known = value_or_zero(plan.args_known, record) != 0,
          .met = returned.met};
  for (size_t i = 0; i < call.args.size(); ++i) call.args[i] = value_or_zero(plan.args, record, i);
  for (CallSink* sink : sinks_) sink->on_begin(call, returned.at, Unknown::none);
  give({.tid = record.tid(),
        .call = &call,
        .end = CallEnd::returned,
        .returned = &returned,
        .end_ns = record.ts()});
}

// A thread other than the main thread becomes the main thread, with its id, before it returns. The
// call of the previous main thread has ended.
void CallTracker::on_exec(const Plan& plan, RecordView record) {
  const auto from = static_cast<uint32_t>(value_or_zero(plan.old_pid, record));
  const uint32_t to = record.tid();
  if (!plan.old_pid || from == to) return;
  end(to, CallEnd::thread_ended, record.ts());
  threads_.erase(to);
  const auto found = threads_.find(from);
  if (found == threads_.end() || !found->second.in_call) return;
  auto thread = threads_.extract(from);
  thread.key() = to;
  threads_.insert(std::move(thread));
  for (CallSink* sink : sinks_) sink->on_new_id(from, to, record.ts());
}

void CallTracker::on_thread_end(RecordView record) {
  end(record.tid(), CallEnd::thread_ended, record.ts());
  threads_.erase(record.tid());
}

void CallTracker::end(uint32_t tid, CallEnd how, uint64_t ts) {
  if (const auto found = threads_.find(tid); found != threads_.end() && found->second.in_call)
    end(tid, found->second, how, ts);
}

void CallTracker::end(uint32_t tid, Thread& thread, CallEnd how, uint64_t ts,
                      const CallReturn* returned) {
  thread.in_call = false;
  Unknown unknown = continuity_.broken_since(thread.since);
  if (how == CallEnd::other_returned || how == CallEnd::unseen) unknown = Unknown::unseen;
  give({.tid = tid,
        .call = &thread.call,
        .end = how,
        .returned = returned,
        .end_ns = ts,
        .unknown = unknown});
}

bool CallTracker::is_open(uint64_t ns) const {
  return completed_ || std::ranges::any_of(threads_, [ns](const auto& entry) {
           return entry.second.in_call && entry.second.call.begin_ns <= ns;
         });
}

// In the order of thread ids, so that the output does not depend on that of the table.
void CallTracker::finish(uint64_t end_ns) {
  std::vector<uint32_t> tids;
  tids.reserve(threads_.size());
  for (const auto& [tid, thread] : threads_)
    if (thread.in_call) tids.push_back(tid);
  std::ranges::sort(tids);
  for (const uint32_t tid : tids) end(tid, CallEnd::trace_ended, end_ns);
}

}  // namespace ktraced
