// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/ftrace/ftrace_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "analysis/coverage/comm.h"
#include "decoders/text/event_stacks.h"
#include "decoders/text/kernel_time.h"
#include "decoders/text/safe_text.h"
#include "schema/annotations.h"
#include "schema/names.h"
#include "trace/packet/field_value.h"
#include "trace/packet/word_text.h"

namespace ktraced {

namespace {

using Kind = FormatStep::Kind;

constexpr std::string_view kHeader =
    "# tracer: nop\n"
    "#\n"
    "#                                _-----=> irqs-off/BH-disabled\n"
    "#                               / _----=> need-resched\n"
    "#                              | / _---=> hardirq/softirq\n"
    "#                              || / _--=> preempt-depth\n"
    "#                              ||| / _-=> migrate-disable\n"
    "#                              |||| /     delay\n"
    "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
    "#              | |         |   |||||     |         |\n";

constexpr size_t kCommWidth = 16;
constexpr size_t kPidWidth = 7;
constexpr size_t kSecondsWidth = 5;

size_t decimal_digits(uint64_t value) {
  size_t digits = 1;
  for (; value >= 10; value /= 10) ++digits;
  return digits;
}

std::vector<Field> located_fields(const Event& event) {
  std::vector<Field> located;
  std::ranges::copy_if(event.fields, std::back_inserter(located), &Field::located);
  return located;
}

// The name without its group, as the kernel prints it.
std::string_view bare_name(const Event& event) {
  const std::string_view name = event.name;
  const size_t colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

void append_spaces_to(size_t width, size_t used, TextBuffer& out) {
  if (used < width) out.append(width - used, ' ');
}

}  // namespace

FtraceDecoder::EventPlan FtraceDecoder::plan_of(const Event& event) {
  EventPlan plan{.head = fmt::format(": {}: ", bare_name(event)),
                 .steps = ftrace_format_of(event),
                 .contexts = {},
                 .probe = ProbeText::of(event),
                 .print = PrintFormat::parse(event.print, event),
                 .located = located_fields(event)};
  for (const FormatStep& step : plan.steps)
    plan.contexts.push_back(context_of(event, step.field.meaning));
  return plan;
}

FtraceDecoder::FtraceDecoder(const DecoderSources& sources, bool names, EventTime time)
    : sources_(sources),
      plans_(sources.schema,
             [names](const Event& event) {
               return plan_of(names ? with_named_meanings(event) : event);
             }),
      names_(names),
      time_(std::move(time)),
      texts_(sources),
      gfp_(sources.schema.gfp_flags) {
  auto account = std::ranges::find(sources.schema.gfp_flags, "__GFP_ACCOUNT", &FlagName::name);
  if (account != sources.schema.gfp_flags.end()) gfp_account_ = account->mask;
}

void FtraceDecoder::header(TextBuffer& out) { out.append(kHeader); }

void FtraceDecoder::event(uint32_t cpu, RecordView record, TextBuffer& out) {
  append_prefix(cpu, record, out);
  if (const EventPlan* plan = plans_.find(record.id()); plan != nullptr) {
    out.append(plan->head);
    append_message(*plan, cpu, record, out);
  } else {
    out.append(": ");
    out.append(event_name(sources_.schema, record.id()));
    out.append(": ");
  }
  out.append('\n');
  if (sources_.stacks != nullptr) sources_.stacks->append_lines(record, sources_.names, out);
}

void FtraceDecoder::message(uint32_t cpu, RecordView record, TextBuffer& out) {
  if (const EventPlan* plan = plans_.find(record.id()); plan != nullptr)
    append_message(*plan, cpu, record, out);
}

void FtraceDecoder::append_message(const EventPlan& plan, uint32_t cpu, RecordView record,
                                   TextBuffer& out) {
  if (plan.probe)
    return plan.probe->append(
        record, [this](uint64_t address, TextBuffer& text) { append_symbol(address, text); }, out);
  if (plan.print) return append_print(plan, cpu, record, out);
  for (size_t i = 0; i < plan.steps.size(); ++i)
    if (!names_ || !append_name(plan.steps[i], plan.contexts[i], cpu, record, out))
      append_step(plan.steps[i], cpu, record, out);
}

// "            bash-3352    [001] ..s.. 18440.883932". Of the flags, records have the context only.
void FtraceDecoder::append_prefix(uint32_t cpu, RecordView record, TextBuffer& out) {
  std::string_view comm = "<idle>";
  if (record.tid() != 0) {
    const TaskName* task = sources_.names.task_at(record.tid(), record.ts());
    comm = task != nullptr ? task->comm() : "<...>";
  }
  append_spaces_to(kCommWidth, comm.size(), out);
  append_printable(comm, out);
  out.append('-');
  out.append_decimal(record.tid());
  append_spaces_to(kPidWidth, decimal_digits(record.tid()), out);
  out.append(" [");
  out.append_padded(cpu, 3);
  out.append("] ..");
  out.append(context_letter(record.context()));
  out.append(".. ");
  if (time_.form() == TimeForm::boot)
    append_spaces_to(kSecondsWidth, decimal_digits(kernel_time(record.ts()).seconds), out);
  time_.append(record.ts(), out);
}

std::string_view FtraceDecoder::name_of(const Field& field, const std::optional<Field>& context,
                                        uint64_t value, uint32_t cpu, RecordView record) {
  switch (field.meaning) {
    case Meaning::syscall_ret:
    case Meaning::syscall_nr:
    case Meaning::signo:
    case Meaning::sig_code:
    case Meaning::sig_result:
    case Meaning::sample_mode:
    case Meaning::errno_nr:
    case Meaning::clone_flags:
    case Meaning::sa_flags:
      return texts_.of(field, context, value, cpu, record);
    default:
      return {};
  }
}

// An error has its sign, as the result of a call has it.
bool FtraceDecoder::append_name(const FormatStep& step, const std::optional<Field>& context,
                                uint32_t cpu, RecordView record, TextBuffer& out) {
  if ((step.kind != Kind::value && step.kind != Kind::hex) || !is_scalar(step.field)) return false;
  const auto value = integer_of(step.field, record);
  if (!value) return false;
  const std::string_view name = name_of(step.field, context, *value, cpu, record);
  if (name.empty()) return false;
  if (step.field.meaning == Meaning::syscall_ret) out.append('-');
  append_printable(name, out);
  return true;
}

void FtraceDecoder::append_print(const EventPlan& plan, uint32_t cpu, RecordView record,
                                 TextBuffer& out) {
  PrintFormat::Name name;
  if (names_)
    name = [this, cpu, record](const Field& field, uint64_t value) {
      return name_of(field, std::nullopt, value, cpu, record);
    };
  plan.print->append(
      record, [this](uint64_t address, TextBuffer& text) { append_symbol(address, text); }, out,
      name);
  // The kernel's format has no place to show failed fields.
  if (std::ranges::any_of(plan.located,
                          [&](const Field& field) { return elements_of(field, record).cut; }))
    out.append(" ...");
}

void FtraceDecoder::append_step(const FormatStep& step, uint32_t cpu, RecordView record,
                                TextBuffer& out) {
  if (step.kind == Kind::literal) return out.append(step.text);
  const Field& field = step.field;
  const Elements elements = elements_of(field, record);
  std::string scratch;
  if (field.meaning == Meaning::text) append_printable(shown_text(field, record, scratch), out);
  for (size_t i = 0; i < elements.count && field.meaning != Meaning::text; ++i) {
    if (i != 0) out.append(", ");
    if (auto value = integer_at(field, record, elements.offset + i * field.size))
      append_integer(step, *value, cpu, record, out);
    else
      out.append('?');  // the record is shorter than the schema says
  }
  if (elements.cut) out.append("...");
}

void FtraceDecoder::append_integer(const FormatStep& step, uint64_t value, uint32_t cpu,
                                   RecordView record, TextBuffer& out) {
  switch (step.kind) {
    case Kind::comm:
      return append_comm(static_cast<uint32_t>(value), record.ts(), cpu, out);
    case Kind::padded: {
      auto number = static_cast<int64_t>(value);
      if (step.field.is_signed && number < 0) return out.append_decimal(number);
      return out.append_padded(value, step.width);
    }
    case Kind::hex:
      return out.append_hex(value);
    case Kind::pointer:
      return out.append_hex(value, 16);
    case Kind::symbol:
      return append_symbol(value, out);
    case Kind::truth:
      return out.append(value != 0 ? "true" : "false");
    case Kind::accounted:
      return out.append((value & gfp_account_) != 0 ? "true" : "false");
    case Kind::status:
      return out.append(exit_code_text(static_cast<int32_t>(value)));
    default:
      return append_by_meaning(step.field, value, out);
  }
}

void FtraceDecoder::append_by_meaning(const Field& field, uint64_t value, TextBuffer& out) {
  switch (field.meaning) {
    case Meaning::kaddr:
      return append_symbol(value, out);
    case Meaning::hex:
    case Meaning::clone_flags:
      out.append("0x");
      return out.append_hex(value);
    case Meaning::gfp_flags:
      return append_printable(gfp_.of(static_cast<uint32_t>(value)), out);
    case Meaning::task_state:
      return out.append(task_state_letters(static_cast<uint32_t>(value)));
    case Meaning::slab_cache: {
      std::string_view name = sources_.names.cache_name(value);
      if (!name.empty()) return append_printable(name, out);
      return out.append_hex(value, 16);
    }
    default:
      if (field.is_signed)
        out.append_decimal(static_cast<int64_t>(value));
      else
        out.append_decimal(value);
  }
}

void FtraceDecoder::append_comm(uint32_t tid, uint64_t ts, uint32_t cpu, TextBuffer& out) const {
  CommScratch scratch;
  append_printable(comm_at(sources_.names, tid, ts, cpu, scratch).value_or("<...>"), out);
}

void FtraceDecoder::append_symbol(uint64_t address, TextBuffer& out) const {
  std::string_view symbol;
  if (sources_.symbols != nullptr && is_kernel_text(address))
    symbol = sources_.symbols->resolve(address);
  if (!symbol.empty()) return append_printable(symbol, out);
  out.append("0x");
  out.append_hex(address);
}

void FtraceDecoder::loss(const LossItem& loss, TextBuffer& out) {
  out.append("CPU:");
  out.append_decimal(loss.cpu);
  out.append(" [LOST ");
  out.append_decimal(loss.count);
  out.append(" EVENTS]\n");
}

}  // namespace ktraced
