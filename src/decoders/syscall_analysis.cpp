#include "decoders/syscall_analysis.h"

#include <algorithm>
#include <string_view>

#include "decoders/event_fields.h"

namespace ktraced {
namespace {

// What the kernel has for the number when a call that restores all registers returns: sigreturn.
constexpr int32_t kNoCall = -1;

uint64_t call_key(uint32_t abi, int32_t nr) {
  return uint64_t{abi & 3} << 30 | (static_cast<uint32_t>(nr) & 0x3fffffff);
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
  plan.nr = field_named(event, "nr");
  plan.abi = field_named(event, "abi");
  plan.args = field_named(event, "args");
  plan.ret = field_named(event, "ret");
  return plan;
}

void SyscallAnalysis::on_record(const RecordOrigin& from, RecordView record) {
  if (!losing_.empty() && losing_.erase(from.cpu) != 0) ++losses_;
  const Source& source = sources_[from.source];
  const Plan* plan = source.plans.find(record.id());
  if (plan == nullptr || plan->kind == Plan::Kind::other) return;
  if (plan->kind == Plan::Kind::enter)
    on_enter(*plan, record);
  else
    on_exit(*plan, record, *source.names);
}

void SyscallAnalysis::on_loss(const LossItem& loss) {
  const Plan* plan = sources_[loss.source].plans.find(loss.event_id);
  if (plan == nullptr || plan->kind == Plan::Kind::other) return;
  lost_ += loss.count;
  losing_.insert(loss.cpu);
  ++losses_;
}

void SyscallAnalysis::on_enter(const Plan& plan, RecordView record) {
  if (running_.size() >= kMaxRunning) running_.clear();  // threads that are gone
  auto [entry, is_new] = running_.try_emplace(record.tid());
  if (!is_new) ++end_unseen_;
  Running& call = entry->second;
  call.ts = record.ts();
  call.nr = static_cast<int32_t>(value_or_zero(plan.nr, record));
  call.abi = static_cast<uint32_t>(value_or_zero(plan.abi, record));
  for (size_t i = 0; i < call.args.size(); ++i) call.args[i] = value_or_zero(plan.args, record, i);
  call.losses = losses_;
}

void SyscallAnalysis::on_exit(const Plan& plan, RecordView record, const NameTable& names) {
  auto ret = static_cast<int64_t>(value_or_zero(plan.ret, record));
  Running call{.abi = static_cast<uint32_t>(value_or_zero(plan.abi, record)),
               .nr = static_cast<int32_t>(value_or_zero(plan.nr, record))};
  const bool sigreturn = call.nr == kNoCall;
  const std::optional<uint64_t> ns = end_of(call, record);
  if (sigreturn) ret = 0;  // belongs to what the signal had interrupted
  const TaskName* task = names.task_at(record.tid(), record.ts());
  const uint32_t pid = task != nullptr ? task->tgid : record.tid();
  SyscallRow& of_process = row_of(by_process_, uint64_t{pid} << 32 | call_key(call.abi, call.nr));
  if (!of_process.others) {
    of_process.pid = pid;
    if (task != nullptr && (of_process.comm.empty() || record.tid() == pid))
      of_process.comm = task->comm();
  }
  count(of_process, call, ret, ns);
  count(row_of(by_call_, call_key(call.abi, call.nr)), call, ret, ns);
  if (ns) note_slow(call, record, ret, *ns, names);
}

// Completes `call` by what its beginning told; how long it took, as far as that is known.
std::optional<uint64_t> SyscallAnalysis::end_of(Running& call, RecordView record) {
  const auto begun = running_.find(record.tid());
  if (begun == running_.end()) {
    ++begun_before_;
    return std::nullopt;
  }
  const Running running = begun->second;
  running_.erase(begun);
  if (call.nr != kNoCall && (running.nr != call.nr || running.abi != call.abi)) {
    // Of another call, whose beginning is missing as the end of the first one is.
    ++begun_before_;
    ++end_unseen_;
    return std::nullopt;
  }
  call = running;
  // The end of one call and the beginning of the next may be lost together.
  if (call.losses != losses_ || !losing_.empty()) {
    ++unsure_;
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
