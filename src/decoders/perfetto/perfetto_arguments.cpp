// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/perfetto/perfetto_arguments.h"

#include "decoders/text/safe_text.h"
#include "schema/annotations.h"
#include "schema/names.h"
#include "trace/packet/field_value.h"
#include "trace/packet/word_text.h"

namespace ktraced {

using protozero::pbf_writer;
namespace pb = perfetto;

PerfettoArguments::PerfettoArguments(const DecoderSources& sources, PerfettoPackets& packets)
    : sources_(sources),
      packets_(packets),
      texts_(sources),
      plans_(sources.schema, [this](const Event& event) { return plan_of(event); }) {}

PerfettoArguments::Plan PerfettoArguments::plan_of(const Event& event) {
  auto name_of = [this](const std::string& name) {
    return name.empty() ? 0 : packets_.argument_name(name);
  };
  Plan plan;
  for (size_t number = 0; number < event.fields.size(); ++number) {
    const Field& field = event.fields[number];
    if (field.meaning == Meaning::failed_fields) {
      plan.failed.emplace(event);
      continue;
    }
    Argument argument{.field = field,
                      .number = number,
                      // As in SQL, "context" is that of the record.
                      .name = name_of(field.name == "context" ? "arg_context" : field.name),
                      .annotation = name_of(annotation_of(field)),
                      .context = context_of(event, field.meaning)};
    if (field.meaning == Meaning::exit_code) {
      const ExitAnnotations names = exit_annotations_of(field);
      argument.status = name_of(names.status);
      argument.signal = name_of(names.signal);
      argument.core = name_of(names.core);
    }
    plan.arguments.push_back(std::move(argument));
  }
  return plan;
}

void PerfettoArguments::add(uint32_t cpu, RecordView record, pbf_writer& event) {
  const Plan* plan = plans_.find(record.id());
  if (plan == nullptr) return;
  if (const auto context = context_name(record.context()); !context.empty()) {
    if (context_ == 0) context_ = packets_.argument_name("context");
    add_text(context_, context, event);
  }
  for (const Argument& argument : plan->arguments) {
    if (plan->failed && plan->failed->contains(argument.number, record))
      add_text(argument.name, "(fault)", event);
    else
      add_field(argument, cpu, record, event);
  }
}

void PerfettoArguments::add_field(const Argument& argument, uint32_t cpu, RecordView record,
                                  pbf_writer& event) {
  const Field& field = argument.field;
  if (field.meaning == Meaning::text) {
    std::string scratch;
    return add_text(argument.name, shown_text(field, record, scratch), event);
  }
  if (!is_scalar(field)) {
    pbf_writer annotation(event, pb::track_event::kAnnotation);
    annotation.add_uint64(pb::annotation::kNameIid, argument.name);
    const Elements elements = elements_of(field, record);
    for (size_t i = 0; i < elements.count; ++i)
      if (auto value = integer_at(field, record, elements.offset + i * field.size)) {
        pbf_writer element(annotation, pb::annotation::kArray);
        add_number(field, *value, element);
      }
    return;
  }
  const auto value = integer_of(field, record);
  if (!value) return;  // the record is shorter than the schema says
  {
    pbf_writer annotation(event, pb::track_event::kAnnotation);
    annotation.add_uint64(pb::annotation::kNameIid, argument.name);
    add_number(field, *value, annotation);
  }
  if (field.meaning == Meaning::exit_code)
    add_exit(argument, static_cast<int32_t>(*value), event);
  else if (argument.annotation != 0)
    add_text(argument.annotation, texts_.of(field, argument.context, *value, cpu, record), event);
}

void PerfettoArguments::add_text(uint64_t name, std::string_view text, pbf_writer& event) {
  if (text.empty()) return;
  scratch_.clear();
  append_printable(text, scratch_);
  const std::string_view clean = scratch_.view();
  pbf_writer annotation(event, pb::track_event::kAnnotation);
  annotation.add_uint64(pb::annotation::kNameIid, name);
  annotation.add_string(pb::annotation::kString, clean.data(), clean.size());
}

void PerfettoArguments::add_exit(const Argument& argument, int32_t exit_code, pbf_writer& event) {
  const ExitStatus end = decode_exit_code(exit_code);
  if (end.signal != 0) {
    add_text(argument.signal, signal_name(end.signal), event);
    if (end.core) add_text(argument.core, "true", event);
    return;
  }
  pbf_writer annotation(event, pb::track_event::kAnnotation);
  annotation.add_uint64(pb::annotation::kNameIid, argument.status);
  annotation.add_int64(pb::annotation::kInt, end.status);
}

void PerfettoArguments::add_number(const Field& field, uint64_t value, pbf_writer& annotation) {
  switch (field.meaning) {
    case Meaning::kaddr:
    case Meaning::hex:
    case Meaning::clone_flags:
      return annotation.add_uint64(pb::annotation::kPointer, value);
    case Meaning::boolean:
      return annotation.add_bool(pb::annotation::kBool, value != 0);
    case Meaning::slab_cache:
      if (const std::string_view name = sources_.names.cache_name(value); !name.empty())
        return annotation.add_string(pb::annotation::kString, printable(name));
      return annotation.add_uint64(pb::annotation::kPointer, value);
    default:
      if (field.is_signed)
        annotation.add_int64(pb::annotation::kInt, static_cast<int64_t>(value));
      else
        annotation.add_uint64(pb::annotation::kUint, value);
  }
}

}  // namespace ktraced
