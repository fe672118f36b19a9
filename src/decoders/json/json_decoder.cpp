// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/json/json_decoder.h"

#include <fmt/format.h>

#include <string_view>

#include "analysis/coverage/comm.h"
#include "decoders/text/event_stacks.h"
#include "decoders/text/safe_text.h"
#include "schema/names.h"
#include "trace/packet/field_value.h"
#include "trace/packet/word_text.h"

namespace ktraced {

namespace {

std::string json_quoted(std::string_view text) {
  TextBuffer out;
  append_json_string(text, out);
  return std::string(out.view());
}

std::string member_key(std::string_view name) {
  return name.empty() ? "" : fmt::format(",{}:", json_quoted(name));
}

void append_hex_string(uint64_t value, TextBuffer& out) {
  out.append("\"0x");
  out.append_hex(value);
  out.append('"');
}

void append_member(std::string_view key, std::string_view text, TextBuffer& out) {
  if (text.empty()) return;
  out.append(key);
  append_json_string(text, out);
}

void append_exit_annotations(const ExitAnnotations& keys, int32_t exit_code, TextBuffer& out) {
  ExitStatus end = decode_exit_code(exit_code);
  if (end.signal == 0) {
    out.append(keys.status);
    out.append_decimal(end.status);
    return;
  }
  append_member(keys.signal, signal_name(end.signal), out);
  if (end.core) {
    out.append(keys.core);
    out.append("true");
  }
}

}  // namespace

JsonDecoder::JsonDecoder(const DecoderSources& sources)
    : sources_(sources),
      plans_(sources.schema, [](const Event& event) { return plan_of(event); }),
      texts_(sources) {}

JsonDecoder::FieldPlan JsonDecoder::plan_of(const Event& event, const Field& field) {
  ExitAnnotations exit = exit_annotations_of(field);
  return {.field = field,
          .key = member_key(field.name),
          .annotation = member_key(annotation_of(field)),
          .cut = field.located ? member_key(field.name + "_cut") + "true" : "",
          .exit = {member_key(exit.status), member_key(exit.signal), member_key(exit.core)},
          .context = context_of(event, field.meaning)};
}

JsonDecoder::EventPlan JsonDecoder::plan_of(const Event& event) {
  EventPlan plan{fmt::format(R"(,"event":{},"args":{{)", json_quoted(event.name)), {}, {}};
  for (size_t number = 0; number < event.fields.size(); ++number) {
    const Field& field = event.fields[number];
    if (field.meaning == Meaning::failed_fields) {
      plan.failed.emplace(event);
      continue;
    }
    plan.fields.push_back(plan_of(event, field));
    plan.fields.back().number = number;
  }
  if (!plan.fields.empty()) plan.fields.front().key.erase(0, 1);  // no comma before the first
  return plan;
}

void JsonDecoder::event(uint32_t cpu, RecordView record, TextBuffer& out) {
  out.append("{\"ts\":");
  out.append_decimal(record.ts());
  out.append(",\"cpu\":");
  out.append_decimal(cpu);
  append_task(cpu, record, out);
  append_member(",\"context\":", context_name(record.context()), out);
  append_stacks(record, out);
  if (const EventPlan* plan = plans_.find(record.id()); plan != nullptr) {
    out.append(plan->head);
    for (const FieldPlan& field : plan->fields) {
      if (plan->failed && plan->failed->contains(field.number, record)) {
        out.append(field.key);
        out.append("null");
      } else {
        append_field(field, cpu, record, out);
      }
    }
  } else {
    out.append(",\"event\":");
    append_json_string(event_name(sources_.schema, record.id()), out);
    out.append(",\"args\":{");
  }
  out.append("}}\n");
}

void JsonDecoder::append_stacks(RecordView record, TextBuffer& out) const {
  const stack_numbers numbers = record.stacks();
  if (numbers.kernel != 0) {
    out.append(",\"kernel_stack\":");
    append_hex_string(numbers.kernel, out);
  }
  if (numbers.user != 0) {
    out.append(",\"user_stack\":");
    append_hex_string(numbers.user, out);
  }
  if (sources_.stacks != nullptr) sources_.stacks->append_members(record, sources_.names, out);
}

void JsonDecoder::append_task(uint32_t cpu, RecordView record, TextBuffer& out) const {
  const TaskName* task = sources_.names.task_at(record.tid(), record.ts());
  out.append(",\"pid\":");
  if (task != nullptr)
    out.append_decimal(task->tgid);
  else
    out.append(record.tid() == 0 ? "0" : "null");
  out.append(",\"tid\":");
  out.append_decimal(record.tid());
  out.append(",\"comm\":");
  CommScratch scratch;
  auto comm = task != nullptr ? task->comm()
                              : comm_at(sources_.names, record.tid(), record.ts(), cpu, scratch);
  if (comm)
    append_json_string(*comm, out);
  else
    out.append("null");
}

void JsonDecoder::append_field(const FieldPlan& plan, uint32_t cpu, RecordView record,
                               TextBuffer& out) {
  const Field& field = plan.field;
  out.append(plan.key);
  if (field.located && elements_of(field, record).cut) {
    append_list_or_text(plan, record, out);
    out.append(plan.cut);
    return;
  }
  if (!is_scalar(field)) return append_list_or_text(plan, record, out);
  if (auto value = integer_of(field, record)) {
    append_scalar(plan, *value, out);
    append_annotation(plan, *value, cpu, record, out);
  } else {
    out.append("null");  // the record is shorter than the schema says
  }
}

void JsonDecoder::append_list_or_text(const FieldPlan& plan, RecordView record,
                                      TextBuffer& out) const {
  const Field& field = plan.field;
  if (field.meaning == Meaning::text) {
    std::string scratch;
    return append_json_string(shown_text(field, record, scratch), out);
  }
  const Elements elements = elements_of(field, record);
  out.append('[');
  for (size_t i = 0; i < elements.count; ++i) {
    if (i != 0) out.append(',');
    if (auto value = integer_at(field, record, elements.offset + i * field.size))
      append_scalar(plan, *value, out);
    else
      out.append("null");
  }
  out.append(']');
}

void JsonDecoder::append_scalar(const FieldPlan& plan, uint64_t value, TextBuffer& out) const {
  switch (plan.field.meaning) {
    case Meaning::kaddr:
    case Meaning::hex:
    case Meaning::clone_flags:
      return append_hex_string(value, out);
    case Meaning::boolean:
      return out.append(value != 0 ? "true" : "false");
    case Meaning::slab_cache: {
      std::string_view name = sources_.names.cache_name(value);
      return name.empty() ? append_hex_string(value, out) : append_json_string(name, out);
    }
    default:
      if (plan.field.is_signed)
        out.append_decimal(static_cast<int64_t>(value));
      else
        out.append_decimal(value);
  }
}

void JsonDecoder::append_annotation(const FieldPlan& plan, uint64_t value, uint32_t cpu,
                                    RecordView record, TextBuffer& out) {
  if (plan.field.meaning == Meaning::exit_code)
    append_exit_annotations(plan.exit, static_cast<int32_t>(value), out);
  else if (!plan.annotation.empty())
    append_member(plan.annotation, texts_.of(plan.field, plan.context, value, cpu, record), out);
}

void JsonDecoder::loss(const LossItem& loss, TextBuffer& out) {
  out.append("{\"ts\":");
  out.append_decimal(loss.ts);
  out.append(",\"cpu\":");
  out.append_decimal(loss.cpu);
  out.append(",\"lost\":");
  out.append_decimal(loss.count);
  out.append(",\"event\":");
  append_json_string(event_name(sources_.schema, loss.event_id), out);
  out.append("}\n");
}

}  // namespace ktraced
