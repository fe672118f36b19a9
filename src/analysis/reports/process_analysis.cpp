// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/process_analysis.h"

#include <algorithm>
#include <string_view>

#include "analysis/coverage/event_fields.h"
#include "schema/names.h"
#include "trace/packet/word_text.h"

namespace ktraced {
namespace {

constexpr std::string_view kExitEvent = "sched_process_exit";
constexpr std::string_view kProcessEvents[] = {"sched_process_fork", "sched_process_exec",
                                               kExitEvent, "signal_generate"};
constexpr int32_t kSignalMask = 0x7f;  // of an exit code
constexpr int32_t kDelivered = 0;      // result of a signal that was not ignored or pending
constexpr size_t kMaxSignals = 64;     // kept of each process

uint32_t id_in(const std::optional<Field>& field, RecordView record) {
  return static_cast<uint32_t>(value_or_zero(field, record));
}

}  // namespace

void ProcessAnalysis::add_source(const Schema& schema, const NameTable& names) {
  runs_.add_source(schema, names);
  sources_.push_back(
      {EventTable<Plan>(schema, [](const Event& event) { return plan_of(event); }), &names});
}

ProcessAnalysis::Plan ProcessAnalysis::plan_of(const Event& event) {
  using Kind = Plan::Kind;
  static constexpr std::pair<std::string_view, Kind> kKinds[] = {
      {"sched_switch", Kind::switched},   {"sched_process_fork", Kind::fork},
      {"sched_process_exec", Kind::exec}, {kExitEvent, Kind::exit},
      {"signal_generate", Kind::signal},  {"mark_victim", Kind::victim}};
  const auto* kind =
      std::ranges::find(kKinds, event.name, &std::pair<std::string_view, Kind>::first);
  return {.kind = kind != std::ranges::end(kKinds) ? kind->second : Kind::other,
          .of_current = ThreadCoverage::is_of_current(event),
          .pid = field_named(event, "pid"),
          .old_pid = field_named(event, "old_pid"),
          .parent_pid = field_named(event, "parent_pid"),
          .child_pid = field_named(event, "child_pid"),
          .child_tgid = field_named(event, "child_tgid"),
          .filename = field_named(event, "filename"),
          .argv = field_named(event, "argv"),
          .sig = field_named(event, "sig"),
          .code = field_named(event, "code"),
          .result = field_named(event, "result"),
          .end = ThreadEndFields::of(event)};
}

// Null for the idle tasks, and after the table was full.
ProcessRow* ProcessAnalysis::row_of(uint32_t tid, uint64_t ts, const TaskName* task,
                                    const NameTable& names) {
  if (tid == 0) return nullptr;
  // A thread still runs for a while after its end.
  if (task == nullptr)
    if (const auto ended = ended_.find(tid); ended != ended_.end()) return &rows_[ended->second];
  const Actor actor = actor_of(tid, ts, task, names);
  const auto number = numbers_.of(actor);
  if (!number) {
    ++not_followed_;
    return nullptr;
  }
  if (*number == rows_.size()) {
    rows_.emplace_back().first_ns = ts;
    note_cgroup(rows_.back(), tid, ts, names);
  }
  ProcessRow& row = rows_[*number];
  row.learn(actor);
  if (task != nullptr) {
    row.uid = task->uid;
    note_parent(row, task->parent, task->start_time, names);
  }
  row.last_ns = ts;
  if (coverage_.has(tid, ts, names)) covered_.insert(*number);
  return &row;
}

// The row of a thread that the record is about; null: it has none.
ProcessRow* ProcessAnalysis::row_in(const Item& item, uint32_t tid) {
  const uint64_t ts = item.record.ts();
  ProcessRow* row = row_of(tid, ts, item.names.task_at(tid, ts), item.names);
  if (row != nullptr && !row->selected) row->selected = is_selected(item.from, item.record, tid);
  if (row != nullptr) note_cgroup(*row, tid, ts, item.names);
  return row;
}

void ProcessAnalysis::note_cgroup(ProcessRow& row, uint32_t tid, uint64_t ts,
                                  const NameTable& names) {
  const uint64_t id = names.cgroup_at(tid, ts);
  if (id == 0) return;
  const std::string_view path = names.cgroup_path(id);
  if (path.empty() && !row.cgroup.empty()) return;
  row.cgroup_id = id;
  if (path != row.cgroup) row.cgroup = path;
}

uint32_t ProcessAnalysis::number_of(const ProcessRow& row) const {
  return static_cast<uint32_t>(&row - rows_.data());
}

ProcessRef ProcessAnalysis::ref_to(const ProcessRow& row) const {
  return {.pid = row.pid, .comm = row.comm, .row = number_of(row)};
}

void ProcessAnalysis::on_record(const RecordOrigin& from, RecordView record) {
  static const Plan kUnknownEvent;
  const Source& source = sources_[from.source];
  const Plan* plan = source.plans.find(record.id());
  const Item item{from, plan != nullptr ? *plan : kUnknownEvent, record, *source.names};
  if (item.plan.of_current) coverage_.note(record.tid());
  see(from.cpu, record.ts());
  row_in(item, record.tid());
  runs_.on_record(from, record);
  switch (item.plan.kind) {
    case Plan::Kind::fork:
      return on_fork(item);
    case Plan::Kind::exec:
      return on_exec(item);
    case Plan::Kind::exit:
      return on_exit(item);
    case Plan::Kind::signal:
      return on_signal(item);
    case Plan::Kind::victim:
      if (ProcessRow* row = row_in(item, id_in(item.plan.pid, record))) row->oom_victim = true;
      return;
    case Plan::Kind::switched:
    case Plan::Kind::other:
      return;
  }
}

void ProcessAnalysis::see(uint32_t cpu, uint64_t ts) {
  if (losing_.empty() || losing_.erase(cpu) == 0) return;
  gap_ns_ = ts;
  gap_ = Unknown::lost;
}

void ProcessAnalysis::on_fork(const Item& item) {
  const auto& [from, plan, record, names] = item;
  const uint32_t parent = id_in(plan.parent_pid, record), child = id_in(plan.child_pid, record);
  const uint64_t ts = record.ts();
  coverage_.note_fork(parent, child, ts, names);
  ended_.erase(child);
  std::optional<ProcessRef> forker;
  if (const ProcessRow* row = row_in(item, parent)) forker = ref_to(*row);
  ProcessRow* row = row_in(item, child);
  if (row == nullptr) return;
  ++row->threads;
  const bool is_process = !plan.child_tgid || id_in(plan.child_tgid, record) == child;
  if (!is_process || !row->known) return;
  row->forked = true;
  row->parent = std::move(forker);
  if (row->start_ns == 0) row->start_ns = ts;
}

void ProcessAnalysis::on_exec(const Item& item) {
  const auto& [from, plan, record, names] = item;
  const uint32_t pid = id_in(plan.pid, record);
  ProcessRow* row = row_in(item, pid);
  if (row == nullptr) return;
  if (plan.old_pid &&
      id_in(plan.old_pid, record) != pid) {  // the main thread has ended, it has not
    ended_.erase(pid);
    row->end_ns.reset();
    row->exit_code.reset();
  }
  ++row->execs;
  if (plan.filename) row->program = text_of(*plan.filename, record);
  if (plan.argv) {
    std::string scratch;
    row->argv = shown_text(*plan.argv, record, scratch);
    if (elements_of(*plan.argv, record).cut) *row->argv += "...";
  }
  const uint32_t parent = id_in(plan.parent_pid, record);
  if (row->parent || parent == 0) return;
  const uint32_t number = number_of(*row);  // a new row moves the others
  if (const ProcessRow* forker = row_in(item, parent)) rows_[number].parent = ref_to(*forker);
}

void ProcessAnalysis::on_exit(const Item& item) {
  const auto& [from, plan, record, names] = item;
  const uint32_t tid = id_in(plan.pid, record);
  ProcessRow* row = row_in(item, tid);
  if (row == nullptr) return;
  ended_[tid] = number_of(*row);
  const ThreadEnd end = plan.end.read(record, tid == row->pid);
  if (end.status) row->exit_code = end.status;
  if (end.ends_process) end_process(*row, record.ts());
}

void ProcessAnalysis::end_process(ProcessRow& row, uint64_t ts) {
  row.end_ns = ts;
  find_killer(row);
  signals_.erase(number_of(row));
}

void ProcessAnalysis::find_killer(ProcessRow& row) {
  const int32_t signal = row.exit_code.value_or(0) & kSignalMask;
  const auto sent = signals_.find(number_of(row));
  if (signal == 0 || sent == signals_.end()) return;
  if (const auto found = sent->second.find(signal); found != sent->second.end())
    row.killer = found->second;
}

void ProcessAnalysis::on_signal(const Item& item) {
  const auto& [from, plan, record, names] = item;
  if (int_or_zero(plan.result, record) != kDelivered) return;
  ProcessRow* target = row_in(item, id_in(plan.pid, record));
  if (target == nullptr || target->end_ns) return;
  const uint32_t number = number_of(*target);
  Signals& signals = signals_[number];
  if (signals.size() >= kMaxSignals) return;
  SentSignal sent{.ts = record.ts(),
                  .by_kernel = sent_by_kernel(int_or_zero(plan.code, record)),
                  .tid = record.tid(),
                  .from = {}};
  if (const ProcessRow* sender = row_in(item, record.tid())) sent.from = ref_to(*sender);
  signals[int_or_zero(plan.sig, record)] = std::move(sent);
}

void ProcessAnalysis::on_switch(const Switch& what) {
  running_[what.cpu].reset();
  ProcessRow* row = row_of(what.next, what.ts, what.next_task, what.names);
  if (row == nullptr) return;
  row->measured |= what.next_covered;
  row->selected |= what.next_selected;
  running_[what.cpu] = number_of(*row);
}

void ProcessAnalysis::on_run(const RunInterval& interval) {
  const auto running = running_[interval.cpu];
  if (!running) return;
  ProcessRow& row = rows_[*running];
  if (interval.then == Unknown::none || interval.then == Unknown::trace_end)
    row.cpu_ns += interval.end_ns - interval.begin_ns;
  else if (interval.then != Unknown::filter)
    ++row.uncertain;
}

void ProcessAnalysis::set_selector(const RecordSelector& selector) {
  Analysis::set_selector(selector);
  runs_.set_selector(selector);
}

void ProcessAnalysis::on_loss(const LossItem& loss) {
  runs_.on_loss(loss);
  const Plan* plan = sources_[loss.source].plans.find(loss.event_id);
  if (plan == nullptr || plan->kind == Plan::Kind::other) return;
  lost_ += loss.count;
  if (plan->kind == Plan::Kind::exit) losing_.insert(loss.cpu);
}

void ProcessAnalysis::on_config_change(uint64_t ts, const TraceConfig& config) {
  runs_.on_config_change(ts, config);
  const bool changed = coverage_.change(config, kProcessEvents);
  if (changed) covered_.clear();
  if (changed || !config.has(kExitEvent)) {
    gap_ns_ = ts;
    gap_ = changed ? Unknown::config_change : Unknown::unseen;
  }
  config_ = config;
}

Unknown ProcessAnalysis::why_no_end(const ProcessRow& row, uint32_t number) const {
  if (config_ && !config_->has(kExitEvent)) return Unknown::unseen;
  if (!covered_.contains(number)) return Unknown::filter;
  if (!losing_.empty()) return Unknown::lost;
  return gap_ns_ > row.last_ns ? gap_ : Unknown::none;
}

void ProcessAnalysis::finish(uint64_t end_ns) {
  runs_.finish(end_ns);
  find_commands();
  find_parents();
  for (uint32_t number = 0; number < rows_.size(); ++number)
    if (ProcessRow& row = rows_[number]; !row.end_ns) row.end_unknown = why_no_end(row, number);
}

}  // namespace ktraced
