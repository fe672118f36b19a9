// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/coverage/thread_coverage.h"

namespace ktraced {

bool ThreadCoverage::change(const TraceConfig& config, std::span<const std::string_view> events) {
  const bool changed = config_ && !config.same_for(*config_, events);
  config_ = config;
  filtered_ = config.filter.any();
  if (changed) matching_.clear();
  return changed;
}

bool ThreadCoverage::is_of_current(const Event& event) {
  return event.matched_by == MatchedBy::current;
}

void ThreadCoverage::note(uint32_t tid) {
  if (filtered() && matching_.size() < kMaxMatching) matching_.insert(tid);
}

void ThreadCoverage::note_switch(uint32_t prev, uint32_t next, uint64_t ts,
                                 const NameTable& names) {
  if (!filtered() || !config_->filter.one_of_two_matches()) return;
  auto left_out = [&](uint32_t tid) {
    return config_->filter.matches(tid, names.task_at(tid, ts)) == false;
  };
  if (left_out(prev))
    note(next);
  else if (left_out(next))
    note(prev);
}

// The child matches from the fork on. No other event shows this before it first runs.
void ThreadCoverage::note_fork(uint32_t parent, uint32_t child, uint64_t ts,
                               const NameTable& names) {
  if (!filtered() || !has(parent, ts, names)) return;
  if (config_->filter.child_matches(child, names.task_at(child, ts)) == true) note(child);
}

bool ThreadCoverage::has(uint32_t tid, uint64_t ts, const NameTable& names) const {
  if (!filtered()) return true;
  return matching_.contains(tid) ||
         config_->filter.matches(tid, names.task_at(tid, ts)).value_or(false);
}

}  // namespace ktraced
