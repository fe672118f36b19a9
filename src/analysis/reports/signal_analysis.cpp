// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/reports/signal_analysis.h"

#include "analysis/coverage/event_fields.h"
#include "schema/names.h"

namespace ktraced {
namespace {

constexpr uint64_t kNoHandler = 1;  // SIG_DFL and SIG_IGN are at most this

// Signal numbers have 7 bits, processes of this analysis fewer than 28.
uint64_t key_of_signals(int32_t signal, uint64_t from, uint64_t to) {
  constexpr unsigned kProcessBits = 28;
  return (static_cast<uint64_t>(signal & 0xff) << kProcessBits | from) << kProcessBits | to;
}

}  // namespace

void SignalAnalysis::add_source(const Schema& schema, const NameTable& names) {
  auto plan_of = [](const Event& event) {
    Plan plan{.sig = field_named(event, "sig"),
              .code = field_named(event, "code"),
              .pid = field_named(event, "pid"),
              .result = field_named(event, "result"),
              .handler = field_named(event, "sa_handler")};
    if (event.name == "signal_generate") plan.kind = Plan::Kind::generated;
    if (event.name == "signal_deliver") plan.kind = Plan::Kind::delivered;
    return plan;
  };
  sources_.push_back({EventTable<Plan>(schema, plan_of), &names});
}

void SignalAnalysis::on_record(const RecordOrigin& from, RecordView record) {
  const Source& source = sources_[from.source];
  const Plan* plan = source.plans.find(record.id());
  if (plan == nullptr || plan->kind == Plan::Kind::other || !is_selected(from, record)) return;
  if (plan->kind == Plan::Kind::generated)
    on_generated(*plan, record, *source.names);
  else
    on_delivered(*plan, record, *source.names);
}

void SignalAnalysis::on_loss(const LossItem& loss) {
  const Plan* plan = sources_[loss.source].plans.find(loss.event_id);
  if (plan != nullptr && plan->kind != Plan::Kind::other && selects_loss(loss)) lost_ += loss.count;
}

// Index in processes(); nothing if there are too many.
std::optional<uint32_t> SignalAnalysis::process_of(uint32_t tid, uint64_t ts,
                                                   const NameTable& names) {
  const Actor actor = actor_of(tid, ts, names.task_at(tid, ts), names);
  const auto number = numbers_.of(actor);
  if (!number) return std::nullopt;
  if (*number == processes_.size()) processes_.emplace_back();
  processes_[*number].learn(actor);
  return number;
}

void SignalAnalysis::on_generated(const Plan& plan, RecordView record, const NameTable& names) {
  const int32_t signal = int_or_zero(plan.sig, record), code = int_or_zero(plan.code, record);
  const auto target = static_cast<uint32_t>(value_or_zero(plan.pid, record));
  const bool by_kernel = sent_by_kernel(code);
  const auto to = process_of(target, record.ts(), names);
  const auto from = by_kernel ? std::nullopt : process_of(record.tid(), record.ts(), names);
  const bool fits = to && (by_kernel || from);
  const uint64_t sender = from ? uint64_t{*from} + 1 : 0;
  SentSignals& row =
      sent_[fits ? sent_.place_of(key_of_signals(signal, sender, *to)).index : sent_.others()];
  count(row, record.ts());
  const int32_t result = int_or_zero(plan.result, record);
  ++row.results[signal_result_name(result).empty() ? kUnnamedResult : result];
  if (row.others) return;
  row.signal = signal;
  row.from = from;
  row.to = *to;
}

void SignalAnalysis::on_delivered(const Plan& plan, RecordView record, const NameTable& names) {
  const int32_t signal = int_or_zero(plan.sig, record);
  const auto process = process_of(record.tid(), record.ts(), names);
  ReceivedSignals& row =
      received_[process ? received_.place_of(key_of_signals(signal, 0, *process)).index
                        : received_.others()];
  count(row, record.ts());
  if (value_or_zero(plan.handler, record) > kNoHandler) ++row.handled;
  if (row.others) return;
  row.signal = signal;
  row.process = *process;
}

}  // namespace ktraced
