// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/run_timeline.h"

#include <algorithm>
#include <string_view>

#include "analysis/coverage/event_fields.h"

namespace ktraced {
namespace {

constexpr std::string_view kRunEvents[] = {"sched_switch"};

}  // namespace

void RunTimeline::add_source(const Schema& schema, const NameTable& names) {
  sources_.push_back(
      {EventTable<Plan>(schema, [](const Event& event) { return plan_of(event); }), &names});
}

RunTimeline::Plan RunTimeline::plan_of(const Event& event) {
  return {.is_switch = event.name == "sched_switch",
          .is_fork = event.name == "sched_process_fork",
          .of_current = ThreadCoverage::is_of_current(event),
          .prev_pid = field_named(event, "prev_pid"),
          .next_pid = field_named(event, "next_pid"),
          .parent_pid = field_named(event, "parent_pid"),
          .child_pid = field_named(event, "child_pid")};
}

void RunTimeline::on_record(const RecordOrigin& from, RecordView record) {
  const Source& source = sources_[from.source];
  const Plan* plan = source.plans.find(record.id());
  if (plan == nullptr) return;
  if (plan->of_current) coverage_.note(record.tid());
  if (plan->is_fork)
    coverage_.note_fork(static_cast<uint32_t>(value_or_zero(plan->parent_pid, record)),
                        static_cast<uint32_t>(value_or_zero(plan->child_pid, record)), record.ts(),
                        *source.names);
  if (plan->is_switch) on_switch(*plan, from.cpu, record, *source.names);
}

void RunTimeline::on_switch(const Plan& plan, uint32_t number, RecordView record,
                            const NameTable& names) {
  const auto prev = static_cast<uint32_t>(value_or_zero(plan.prev_pid, record));
  const auto next = static_cast<uint32_t>(value_or_zero(plan.next_pid, record));
  const uint64_t ts = record.ts();
  coverage_.note_switch(prev, next, ts, names);
  Cpu& cpu = cpus_[number];
  // Another thread ran in between, or a thread that the filter rejects: the switch between is not
  // in the trace.
  if (cpu.tid && (*cpu.tid != prev || !coverage_.has(prev, ts, names))) cpu.tid.reset();
  end_slice(number, cpu, ts);
  const uint32_t task = next == 0 ? 0 : tasks_.number_of(next, ts, names);
  cpu = {.tid = next, .whole = coverage_.has(next, ts, names), .task = task, .since = ts};
}

// Adds the time up to `ts`.
void RunTimeline::end_slice(uint32_t number, const Cpu& cpu, uint64_t ts) {
  const uint64_t end = std::max(cpu.since, ts);
  if (!cpu.tid) {
    unknown_.add(number, cpu.since, end, 0);
  } else if (*cpu.tid != 0) {
    ran_.add(number, cpu.since, end, cpu.task);
  }
}

void RunTimeline::on_loss(const LossItem& loss) {
  const Plan* plan = sources_[loss.source].plans.find(loss.event_id);
  if (plan == nullptr || !plan->is_switch) return;
  Cpu& cpu = cpus_[loss.cpu];
  if (!cpu.tid) return;
  // Before a loss nothing is missing. Before the beginning of a history, events may be missing.
  if (loss.count != 0 && cpu.whole) {
    end_slice(loss.cpu, cpu, loss.ts);
    cpu.since = std::max(cpu.since, loss.ts);
  }
  cpu.tid.reset();
}

// It is unknown which threads run after the change. Up to the change it is known, unless tracing
// was paused, which is reported before.
void RunTimeline::on_config_change(uint64_t ts, const TraceConfig& scope) {
  if (!coverage_.change(scope, kRunEvents)) return;
  for (auto& [number, cpu] : cpus_) {
    if (!cpu.tid) continue;
    if (cpu.whole) {
      end_slice(number, cpu, ts);
      cpu.since = std::max(cpu.since, ts);
    }
    cpu.tid.reset();
  }
}

void RunTimeline::finish(uint64_t end_ns) {
  for (auto& [number, cpu] : cpus_) {
    if (!cpu.whole) cpu.tid.reset();
    end_slice(number, cpu, end_ns);
  }
  cpus_.clear();
}

}  // namespace ktraced
