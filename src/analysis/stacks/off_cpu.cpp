// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/stacks/off_cpu.h"

#include <algorithm>
#include <utility>

#include "analysis/coverage/event_fields.h"
#include "analysis/intervals/evict.h"

namespace ktraced {
namespace {

constexpr std::string_view kSleepEvents[] = {"sched_switch"};

}  // namespace

std::string_view kind_of_sleep(uint32_t state) {
  // Bits of task_state_t.
  constexpr std::pair<uint32_t, std::string_view> kKinds[] = {
      {0x01, "interruptible"}, {0x02, "uninterruptible"}, {0x04, "stopped"},
      {0x08, "traced"},        {0x40, "parked"},          {0x80, "idle"}};
  for (const auto& [bit, name] : kKinds)
    if ((state & bit) != 0) return name;
  return "other";
}

void OffCpuAnalysis::add_source(const Schema& schema, const NameTable& names) {
  runs_.add_source(schema, names);
  sources_.push_back({EventTable<Plan>(schema,
                                       [](const Event& event) {
                                         Plan plan{.pid = field_named(event, "pid")};
                                         if (event.name == "sched_switch")
                                           plan.kind = Plan::Kind::switched;
                                         else if (event.name == "sched_waking")
                                           plan.kind = Plan::Kind::waking;
                                         return plan;
                                       }),
                      &names});
}

void OffCpuAnalysis::set_selector(const RecordSelector& selector) {
  Analysis::set_selector(selector);
  runs_.set_selector(selector);
}

void OffCpuAnalysis::on_record(const RecordOrigin& from, RecordView record) {
  runs_.on_record(from, record);
  continuity_.see(from.cpu);
  const Source& source = sources_[from.source];
  const Plan* plan = source.plans.find(record.id());
  if (plan == nullptr || plan->kind != Plan::Kind::waking) return;
  // The kernel reports a waking once for each sleep, before anything else can wake the thread.
  const auto found = sleeping_.find(static_cast<uint32_t>(value_or_zero(plan->pid, record)));
  if (found == sleeping_.end() || found->second.woken_ns != 0) return;
  found->second.woken_ns = record.ts();
  found->second.key.waker = sums_.place_of(record, *source.names);
}

void OffCpuAnalysis::on_loss(const LossItem& loss) {
  runs_.on_loss(loss);
  const Plan* plan = sources_[loss.source].plans.find(loss.event_id);
  if (plan == nullptr || plan->kind == Plan::Kind::other) return;
  lost_ += loss.count;
  if (plan->kind == Plan::Kind::switched) continuity_.lose(loss.cpu);
}

void OffCpuAnalysis::on_config_change(uint64_t ts, const TraceConfig& config) {
  runs_.on_config_change(ts, config);
  if (config_ && !config.same_for(*config_, kSleepEvents))
    continuity_.interrupt(Unknown::config_change);
  config_ = config;
}

void OffCpuAnalysis::on_switch(const Switch& what) {
  continuity_.see(what.cpu);
  if (what.prev != 0) {
    sleeping_.erase(what.prev);
    if (!what.prev_runnable() && !what.prev_ended()) begin(what);
  }
  if (what.next == 0) return;
  if (const auto slept = sleeping_.extract(what.next); !slept.empty()) end(what, slept.mapped());
}

void OffCpuAnalysis::begin(const Switch& what) {
  if (sleeping_.size() >= max_sleeping_)
    not_followed_ += evict_older_half(sleeping_, [](const Sleep& each) { return each.since; });
  Sleep sleep{.since = what.ts,
              .gaps = continuity_.now(),
              .key = {.at = sums_.place_of(what.prev, what.ts, what.names, what.stacks),
                      .waker = {.owner = StackKey::kNobody},
                      .what = what.prev_state},
              .cpu = what.cpu,
              .selected = what.prev_selected};
  sleeping_.insert_or_assign(what.prev, std::move(sleep));
}

void OffCpuAnalysis::end(const Switch& what, const Sleep& sleep) {
  if (!what.next_selected) return;
  // Another thread may have got the id.
  const bool is_younger = what.next_task != nullptr && what.next_task->start_time > sleep.since;
  if (!what.next_covered || is_younger || continuity_.broken_since(sleep.gaps) != Unknown::none) {
    ++uncertain_;
    return;
  }
  const auto weight = StackWeight::of_time(what.ts - std::min(what.ts, sleep.since), sleep.since);
  const uint32_t row = sums_.row_of(sleep.key, sleep.since, sleep.woken_ns);
  sums_.add({.ts = sleep.since, .ns = weight.ns, .row = row, .cpu = sleep.cpu}, weight);
  kinds_[kind_of_sleep(sleep.key.what)].ended += weight;
}

void OffCpuAnalysis::finish(uint64_t end_ns) {
  runs_.finish(end_ns);
  for (const auto& [tid, sleep] : sleeping_) {
    if (!sleep.selected || continuity_.broken_since(sleep.gaps) != Unknown::none) continue;
    SleepSums& sums = kinds_[kind_of_sleep(sleep.key.what)];
    ++sums.open;
    sums.longest_open_ns = std::max(sums.longest_open_ns, end_ns - std::min(end_ns, sleep.since));
  }
  sleeping_.clear();
}

}  // namespace ktraced
