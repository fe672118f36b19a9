// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/wakeup_analysis.h"

#include <algorithm>
#include <utility>

#include "analysis/coverage/event_fields.h"
#include "schema/names.h"

namespace ktraced {

WakeupAnalysis::WakeupAnalysis(IsTarget is_target, size_t longest)
    : is_target_(std::move(is_target)), longest_(longest) {
  sched_.add_sink(*this);
}

void WakeupAnalysis::add_source(const Schema& schema, const NameTable& names) {
  sched_.add_source(schema, names);
  auto plan_of = [](const Event& event) {
    Plan plan{.pid = field_named(event, "pid")};
    if (event.name == "sched_waking") plan.kind = Plan::Kind::waking;
    if (event.name == "sched_wakeup") plan.kind = Plan::Kind::woken;
    if (event.name == "sched_wakeup_new") plan.kind = Plan::Kind::created;
    return plan;
  };
  sources_.push_back({EventTable<Plan>(schema, plan_of), &names});
}

void WakeupAnalysis::on_record(const RecordOrigin& from, RecordView record) {
  const Source& source = sources_[from.source];
  const Plan* plan = source.plans.find(record.id());
  if (plan != nullptr && plan->kind != Plan::Kind::other) {
    const auto tid = static_cast<uint32_t>(value_or_zero(plan->pid, record));
    if (is_target_(tid, source.names->task_at(tid, record.ts())))
      on_woken(plan->kind, tid, from.cpu, record, *source.names);
  }
  sched_.on_record(from, record);
}

void WakeupAnalysis::on_woken(Plan::Kind kind, uint32_t tid, uint32_t cpu, RecordView record,
                              const NameTable& names) {
  Woken& woken = woken_[tid];
  WokenBy by{.ts = record.ts()};
  if (kind == Plan::Kind::woken && woken.waking) {
    by = *woken.waking;
    by.ts = record.ts();
    woken.waking.reset();
  } else {
    by.row = row_of_waker(cpu, record, names);
    by.exact = kind != Plan::Kind::woken;
  }
  if (kind == Plan::Kind::waking)
    woken.waking = by;
  else
    (woken.first ? woken.last : woken.first) = by;
}

std::optional<std::set<std::string>> WakeupAnalysis::names_without_target() const {
  std::set<std::string> comms;
  bool found = false;
  for (const Source& source : sources_)
    source.names->for_each_task([&](uint32_t tid, const std::vector<TaskName>& versions) {
      for (const TaskName& version : versions) {
        if (version.tgid == 0) continue;  // an end
        found |= is_target_(tid, &version);
        comms.emplace(version.comm());
      }
    });
  if (found) return std::nullopt;
  return comms;
}

// Who woke a thread at that time.
std::optional<WakeupAnalysis::WokenBy> WakeupAnalysis::waker_of(uint32_t tid, uint64_t woken_ns) {
  auto woken = woken_.extract(tid);
  if (woken.empty()) return std::nullopt;
  for (const auto& by : {woken.mapped().first, woken.mapped().last})
    if (by && by->ts == woken_ns) return by;
  return std::nullopt;
}

// The thread that a hard interrupt or an NMI came upon has nothing to do with the wake-up. A soft
// interrupt often runs in the thread that has raised it.
uint32_t WakeupAnalysis::row_of_waker(uint32_t cpu, RecordView record, const NameTable& names) {
  const record_context context = record.context();
  if (context == CONTEXT_UNKNOWN || context == CONTEXT_TASK || context == CONTEXT_SOFTIRQ)
    return row_of_thread(record, names);
  return row_of_interrupt(context_name(context), cpu);
}

uint32_t WakeupAnalysis::row_of_others() {
  if (!others_) {
    others_ = static_cast<uint32_t>(wakers_.size());
    wakers_.push_back({.others = true});
  }
  return *others_;
}

uint32_t WakeupAnalysis::row_of_interrupt(std::string_view interrupt, uint32_t cpu) {
  const auto found = row_of_interrupt_.find({interrupt, cpu});
  if (found != row_of_interrupt_.end()) return found->second;
  if (row_of_interrupt_.size() >= kMaxRows) return row_of_others();
  const auto row = static_cast<uint32_t>(wakers_.size());
  wakers_.push_back({.interrupt = interrupt, .cpu = cpu});
  row_of_interrupt_.emplace(std::pair(interrupt, cpu), row);
  return row;
}

uint32_t WakeupAnalysis::row_of_thread(RecordView record, const NameTable& names) {
  const uint32_t tid = record.tid();
  const bool in_softirq = record.context() == CONTEXT_SOFTIRQ;
  const TaskName* task = names.task_at(tid, record.ts());
  const auto identity = identities_.number_of(tid, task != nullptr ? task->start_time : 0);
  if (!identity) return row_of_others();
  const auto [found, is_new] =
      row_of_identity_.try_emplace({*identity, in_softirq}, static_cast<uint32_t>(wakers_.size()));
  if (is_new)
    wakers_.push_back({.interrupt = in_softirq ? context_name(CONTEXT_SOFTIRQ) : "", .tid = tid});
  WakerRow& row = wakers_[found->second];
  if (tid == 0) row.comm = "swapper";
  if (task == nullptr) return found->second;
  row.pid = task->tgid;
  row.start_ns = task->start_time;
  if (row.comm != task->comm()) row.comm = task->comm();
  return found->second;
}

uint32_t WakeupAnalysis::row_of_unknown_waker() {
  if (!unknown_) {
    unknown_ = static_cast<uint32_t>(wakers_.size());
    wakers_.push_back({.known = false});
  }
  return *unknown_;
}

void WakeupAnalysis::on_wait(const WaitInterval& interval) {
  if (!is_target_(interval.tid, interval.task)) return;
  const auto waker = waker_of(interval.tid, interval.begin_ns);
  std::string& name = targets_[interval.tid];
  if (interval.task != nullptr) name = interval.task->comm();
  if (interval.unknown != Unknown::none) {
    ++uncertain_;
    return;
  }
  const uint64_t ns = interval.end_ns - std::min(interval.end_ns, interval.begin_ns);
  std::optional<uint32_t> row;
  if (interval.woken) {
    row = waker ? waker->row : row_of_unknown_waker();
    if (waker && !waker->exact) guessed_ = true;
    count_delay(*row, interval, ns);
  } else {
    preemptions_.add(ns);
  }
  std::optional<InsteadRow> instead = count_instead(interval);
  if (!longest_.keeps(ns)) return;
  longest_.add({.begin_ns = interval.begin_ns,
                .ns = ns,
                .cpu = interval.cpu,
                .tid = interval.tid,
                .comm = std::string(interval.task != nullptr ? interval.task->comm() : ""),
                .waker = row,
                .instead = std::move(instead)});
}

// Counts a wait that ends a sleep, for its waker and for the pair of both.
void WakeupAnalysis::count_delay(uint32_t waker, const WaitInterval& interval, uint64_t ns) {
  delays_.add(ns);
  WakerRow& row = wakers_[waker];
  if (row.count++ == 0) row.first_ns = interval.begin_ns;
  row.delay.add(ns);
  const auto place = pairs_.place_of(uint64_t{waker} << 32 | interval.tid);
  WakeupPair& pair = pairs_[place.index];
  ++pair.count;
  pair.ns += ns;
  if (pair.count == 1 || ns > pair.max_ns) {
    pair.max_ns = ns;
    pair.max_at = interval.begin_ns;
  }
  if (pair.others) return;
  pair.waker = waker;
  pair.tid = interval.tid;
  if (interval.task != nullptr && pair.comm != interval.task->comm())
    pair.comm = interval.task->comm();
}

// What ran longest on the CPU of a wait; nothing: unknown. Adds all that ran there to the sums.
std::optional<InsteadRow> WakeupAnalysis::count_instead(const WaitInterval& interval) {
  std::optional<InsteadRow> longest;
  uint64_t known = 0;
  for (const auto& [tid, ns] : sched_.ran_on(interval.cpu, interval.begin_ns, interval.end_ns)) {
    known += ns;
    const TaskName* task = tid != 0 ? interval.names.task_at(tid, interval.end_ns) : nullptr;
    const std::string comm(tid == 0 ? "idle" : task != nullptr ? task->comm() : "");
    if (!longest || ns > longest->ns) longest = {.tid = tid, .comm = comm, .waits = 1, .ns = ns};
    if (instead_.size() >= kMaxRows && !instead_.contains(tid)) continue;
    InsteadRow& sum = instead_[tid];
    sum.tid = tid;
    if (!comm.empty()) sum.comm = comm;
    ++sum.waits;
    sum.ns += ns;
  }
  const uint64_t ns = interval.end_ns - interval.begin_ns;
  unknown_ns_ += ns - std::min(ns, known);
  return longest;
}

}  // namespace ktraced
