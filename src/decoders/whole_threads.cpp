// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/whole_threads.h"

#include <algorithm>

namespace ktraced {
namespace {

// Most other events pass a filter by another thread too.
constexpr std::string_view kEventsOfCurrent[] = {
    "sys_enter",        "sys_exit",        "kmalloc",           "kfree",
    "kmem_cache_alloc", "kmem_cache_free", "sched_process_exec"};

}  // namespace

bool WholeThreads::change(const TraceScope& scope, std::span<const std::string_view> events) {
  const bool changed = scope_ && !scope.same_for(*scope_, events);
  scope_ = scope;
  if (changed) passing_.clear();
  return changed;
}

bool WholeThreads::is_of_current(const Event& event) {
  return std::ranges::find(kEventsOfCurrent, event.name) != std::end(kEventsOfCurrent);
}

void WholeThreads::note(uint32_t tid) {
  if (filtered() && passing_.size() < kMaxPassing) passing_.insert(tid);
}

void WholeThreads::note_switch(uint32_t prev, uint32_t next, uint64_t ts, const NameTable& names) {
  if (!filtered() || !scope_->filter.one_of_two_passes()) return;
  auto left_out = [&](uint32_t tid) {
    return scope_->filter.passes(tid, names.task_at(tid, ts)) == false;
  };
  if (left_out(prev))
    note(next);
  else if (left_out(next))
    note(prev);
}

// From its birth on: it does nothing else that says so before it runs.
void WholeThreads::note_fork(uint32_t parent, uint32_t child, uint64_t ts, const NameTable& names) {
  if (!filtered() || !has(parent, ts, names)) return;
  if (scope_->filter.child_passes(child, names.task_at(child, ts)) == true) note(child);
}

bool WholeThreads::has(uint32_t tid, uint64_t ts, const NameTable& names) const {
  if (!filtered()) return true;
  return passing_.contains(tid) ||
         scope_->filter.passes(tid, names.task_at(tid, ts)).value_or(false);
}

}  // namespace ktraced
