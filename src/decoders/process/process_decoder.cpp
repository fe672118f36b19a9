// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/process/process_decoder.h"

#include <algorithm>
#include <utility>

#include "analysis/coverage/call_result.h"
#include "analysis/coverage/comm.h"
#include "analysis/coverage/event_fields.h"
#include "decoders/text/loss_comment.h"
#include "decoders/text/safe_text.h"
#include "schema/names.h"
#include "trace/packet/word_text.h"

namespace ktraced {
namespace {

void append_hex_number(uint64_t value, TextBuffer& out) {
  out.append("0x");
  out.append_hex(value);
}

// `name`, or the number if it has none.
void append_name(std::string_view name, int64_t number, TextBuffer& out) {
  if (!name.empty()) return out.append(name);
  out.append_decimal(number);
}

}  // namespace

ProcessDecoder::ProcessDecoder(const DecoderSources& sources, bool names, EventTime time)
    : sources_(sources),
      plans_(sources.schema, [](const Event& event) { return plan_of(event); }),
      names_(names),
      time_(std::move(time)) {}

ProcessDecoder::Plan ProcessDecoder::plan_of(const Event& event) {
  struct Shown {
    std::string_view event;
    Kind kind;
    std::string_view first, second, third;
  };
  static constexpr Shown kShown[] = {
      {"task_newtask", Kind::newtask, "pid", "clone_flags", ""},
      {"task:task_newtask", Kind::newtask, "pid", "clone_flags", ""},
      {"sched_process_fork", Kind::fork, "child_pid", "", ""},
      {"sched_process_exec", Kind::exec, "filename", "argv", ""},
      {"sched_process_exit", Kind::exit, "exit_code", "", ""},
      {"signal_deliver", Kind::signal, "sig", "error", "code"},
      {"sys_enter", Kind::sys_enter, "nr", "args", "abi"},
      {"sys_exit", Kind::sys_exit, "ret", "nr", ""},
      {"sys_completed", Kind::sys_completed, "nr", "args", "abi"},
  };
  Plan plan;
  if (const auto* shown = std::ranges::find(kShown, event.name, &Shown::event);
      shown != std::ranges::end(kShown)) {
    plan.kind = shown->kind;
    plan.first = field_named(event, shown->first);
    plan.second = field_named(event, shown->second);
    plan.third = field_named(event, shown->third);
    plan.ret = field_named(event, "ret");
    plan.args_known = field_named(event, "args_known");
    plan.duration = field_named(event, "duration");
  } else if (auto string = StringText::of(event)) {
    plan.kind = Kind::string;
    plan.string = std::move(string);
  } else if (auto probe = ProbeText::of(event)) {
    plan.kind = Kind::probe;
    plan.probe = std::move(probe);
  }
  return plan;
}

void ProcessDecoder::event(uint32_t cpu, RecordView record, TextBuffer& out) {
  const Plan* plan = plans_.find(record.id());
  if (plan == nullptr || plan->kind == Kind::none || is_known_fork(*plan, record)) return;
  append_prefix(cpu, record, out);
  switch (plan->kind) {
    case Kind::newtask:
    case Kind::fork:
      append_fork(*plan, record, out);
      break;
    case Kind::exec:
      append_exec(*plan, record, out);
      break;
    case Kind::exit:
      append_exit(*plan, record, out);
      break;
    case Kind::signal:
      append_signal(*plan, record, out);
      break;
    case Kind::sys_enter:
      append_sys_enter(*plan, record, out);
      break;
    case Kind::sys_exit:
      append_sys_exit(*plan, record, out);
      break;
    case Kind::sys_completed:
      append_completed(*plan, record, out);
      break;
    case Kind::string:
      plan->string->append(record, names_, out);
      break;
    case Kind::probe:
      append_hit(*plan->probe, record, out);
      break;
    case Kind::none:
      break;
  }
  out.append('\n');
}

// Has task_newtask already shown the fork of this sched_process_fork? Both events belong to the
// thread that forks, which does nothing else between them.
bool ProcessDecoder::is_known_fork(const Plan& plan, RecordView record) {
  if (plan.kind == Kind::newtask) {
    if (begun_.size() >= kMaxBegun) begun_.clear();
    begun_[record.tid()] = value_or_zero(plan.first, record);
    return false;
  }
  if (plan.kind != Kind::fork) return false;
  const auto begun = begun_.find(record.tid());
  if (begun == begun_.end()) return false;
  const bool same = begun->second == value_or_zero(plan.first, record);
  begun_.erase(begun);
  return same;
}

void ProcessDecoder::append_prefix(uint32_t cpu, RecordView record, TextBuffer& out) {
  CommScratch scratch;
  append_printable(
      comm_at(sources_.names, record.tid(), record.ts(), cpu, scratch).value_or("<...>"), out);
  out.append(' ');
  out.append_decimal(record.tid());
  out.append(' ');
  out.append_decimal(cpu);
  out.append(' ');
  time_.append(record.ts(), out);
  out.append("  ");
}

void ProcessDecoder::append_fork(const Plan& plan, RecordView record, TextBuffer& out) const {
  out.append("fork ");
  out.append_decimal(value_or_zero(plan.first, record));
  out.append(" flags ");
  if (plan.kind != Kind::newtask) return out.append('?');  // this event has no such value
  const uint64_t flags = value_or_zero(plan.second, record);
  if (const std::string names = clone_flag_names(flags); names_ && !names.empty())
    out.append(names);
  else
    append_hex_number(flags, out);
}

void ProcessDecoder::append_exec(const Plan& plan, RecordView record, TextBuffer& out) const {
  out.append("exec");
  if (!names_ || !plan.first) return;
  out.append(' ');
  append_printable(text_of(*plan.first, record), out);
  if (!plan.second) return;
  std::string scratch;
  const std::string_view argv = shown_text(*plan.second, record, scratch);
  const bool cut = elements_of(*plan.second, record).cut;
  if (argv.empty() && cut) return out.append(" argv unreadable");
  out.append(" argv \"");
  append_printable(argv, out);
  out.append(cut ? "\"..." : "\"");
}

void ProcessDecoder::append_exit(const Plan& plan, RecordView record, TextBuffer& out) const {
  const auto code = static_cast<int32_t>(value_or_zero(plan.first, record));
  const ExitStatus status = decode_exit_code(code);
  out.append("exit ");
  if (!names_) return out.append_decimal(code);
  if (status.signal == 0) return out.append_decimal(status.status);
  append_name(signal_name(status.signal), status.signal, out);
}

void ProcessDecoder::append_signal(const Plan& plan, RecordView record, TextBuffer& out) const {
  const auto signal = static_cast<int32_t>(value_or_zero(plan.first, record));
  const auto error = static_cast<int32_t>(value_or_zero(plan.second, record));
  const auto code = static_cast<int32_t>(value_or_zero(plan.third, record));
  out.append("signal ");
  append_name(names_ ? signal_name(signal) : "", signal, out);
  out.append(" errno ");
  append_name(names_ ? errno_name(error) : "", error, out);
  out.append(" code ");
  if (const auto name = signal_code_name(signal, code); names_ && !name.empty())
    out.append(name);
  else
    append_hex_number(static_cast<uint32_t>(code), out);
}

void ProcessDecoder::append_sys_enter(const Plan& plan, RecordView record, TextBuffer& out) const {
  const auto number = static_cast<int32_t>(value_or_zero(plan.first, record));
  const auto abi = static_cast<uint32_t>(value_or_zero(plan.third, record));
  out.append("syscall ");
  append_name(names_ ? syscall_name(abi, number) : "", number, out);
  out.append(" [");
  if (plan.args_known && value_or_zero(plan.args_known, record) == 0) return out.append("?]");
  for (size_t i = 0; plan.second && i < plan.second->count; ++i) {
    if (i != 0) out.append(' ');
    append_hex_number(integer_of(*plan.second, record, i).value_or(0), out);
  }
  out.append(']');
}

void ProcessDecoder::append_sys_exit(const Plan& plan, RecordView record, TextBuffer& out) const {
  out.append("syscall ");
  append_result(plan.second, plan.first, record, out);
}

// The lines of the call and of its return in one, and how long the call took.
void ProcessDecoder::append_completed(const Plan& plan, RecordView record, TextBuffer& out) const {
  append_sys_enter(plan, record, out);
  out.append(' ');
  append_result(plan.first, plan.ret, record, out);
  const auto duration = static_cast<int64_t>(value_or_zero(plan.duration, record));
  out.append(" ns ");
  if (duration < 0) return out.append('?');
  out.append_decimal(duration);
}

void ProcessDecoder::append_result(const std::optional<Field>& nr, const std::optional<Field>& ret,
                                   RecordView record, TextBuffer& out) const {
  const auto result = static_cast<int64_t>(value_or_zero(ret, record));
  const int32_t error = error_of_call(static_cast<int32_t>(value_or_zero(nr, record)), result);
  out.append("rc ");
  out.append_decimal(result);
  out.append(" error ");
  append_name(names_ ? errno_name(error) : "", -int64_t{error}, out);
}

void ProcessDecoder::append_hit(const ProbeText& probe, RecordView record, TextBuffer& out) const {
  out.append(probe.is_return() ? "<-" : "@");
  append_place(probe.place(record), out);
  probe.append_values(
      record,
      [this](uint64_t address, TextBuffer& text) {
        // Places in the format of the process tracer: function and offset, without the size.
        append_place(address, text);
      },
      out);
}

// "do_sys_openat2+0x2a"; at its beginning "do_sys_openat2+0".
void ProcessDecoder::append_place(uint64_t address, TextBuffer& out) const {
  std::string_view symbol;
  if (sources_.symbols != nullptr && is_kernel_text(address))
    symbol = sources_.symbols->resolve(address);
  if (symbol.empty()) return append_hex_number(address, out);
  symbol = symbol.substr(0, symbol.rfind('/'));
  constexpr std::string_view kBegin = "+0x0";
  if (symbol.ends_with(kBegin)) symbol.remove_suffix(2);
  append_printable(symbol, out);
}

void ProcessDecoder::loss(const LossItem& loss, TextBuffer& out) {
  const Plan* plan = plans_.find(loss.event_id);
  if (plan == nullptr || plan->kind != Kind::none) append_loss_comment(loss, sources_.schema, out);
}

}  // namespace ktraced
