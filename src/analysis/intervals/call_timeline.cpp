// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/call_timeline.h"

#include <algorithm>
#include <utility>

namespace ktraced {

void CallTimeline::on_begin(const Call& /*call*/, const CallRecord& at, Unknown /*unknown*/) {
  const uint32_t tid = at.record.tid();
  name(tid, at.names.task_at(tid, at.record.ts()));
}

void CallTimeline::on_end(const CallInterval& interval) {
  if (interval.end == CallEnd::child_returned || !interval.selected()) return;
  const bool is_dead = interval.end == CallEnd::trace_ended && interval.call->never_returns;
  if (!interval.known() || is_dead) {
    ++uncertain_;
    return;
  }
  add(interval);
  if (interval.returned != nullptr) name(interval.tid, interval.returned->at.task);
}

void CallTimeline::add(const CallInterval& interval) {
  const Call& call = *interval.call;
  if (const auto lane = lane_of(interval.tid))
    slices_.add(*lane, call.begin_ns, std::max(call.begin_ns, interval.end_ns), index_of(call));
  else
    ++other_calls_;
}

// A lane has the last name of its thread. A thread that reuses the id gets another lane.
void CallTimeline::name(uint32_t tid, const TaskName* task) {
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

uint32_t CallTimeline::index_of(const Call& call) {
  const auto [found, is_new] =
      call_index_.try_emplace({call.abi, call.nr}, static_cast<uint32_t>(calls_.size()));
  if (is_new) calls_.push_back({.abi = call.abi, .nr = call.nr});
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

}  // namespace ktraced
