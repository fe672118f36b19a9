// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/predicate/field_reference.h"

#include <algorithm>
#include <array>
#include <utility>

#include "schema/annotations.h"
#include "schema/names.h"
#include "trace/packet/field_value.h"

namespace ktraced {
namespace {

constexpr std::array<std::pair<std::string_view, PredicateSource>, 6> kSources = {{
    {"cpu", PredicateSource::cpu},
    {"tid", PredicateSource::tid},
    {"pid", PredicateSource::pid},
    {"comm", PredicateSource::comm},
    {"context", PredicateSource::context},
    {"event", PredicateSource::event},
}};
constexpr std::string_view kArgs = "args.";

struct Annotation {
  std::string name;
  PredicateSource source = PredicateSource::field;
  FieldPart part = FieldPart::value;
};

// The annotations of a field that can be compared. Symbols of addresses cannot: the trace's symbols
// are not at hand.
std::vector<Annotation> annotations_of(const Field& field) {
  if (!is_scalar(field) || field.meaning == Meaning::kaddr) return {};
  if (field.meaning == Meaning::exit_code) {
    const ExitAnnotations names = exit_annotations_of(field);
    return {{names.status, PredicateSource::field, FieldPart::exit_status},
            {names.signal, PredicateSource::field, FieldPart::exit_signal},
            {names.core, PredicateSource::field, FieldPart::exit_core}};
  }
  std::string name = annotation_of(field);
  if (name.empty()) return {};
  if (field.meaning == Meaning::tid) return {{std::move(name), PredicateSource::comm_of_field}};
  return {{std::move(name), PredicateSource::field,
           field.meaning == Meaning::syscall_ret ? FieldPart::error : FieldPart::value}};
}

FieldReference to_field(const Event& event, const Field& field) {
  FieldReference reference;
  reference.source = PredicateSource::field;
  reference.field = field;
  reference.field.meaning = named_meaning(event, field);
  reference.context = context_of(event, field.meaning);
  return reference;
}

}  // namespace

bool FieldReference::is_text() const {
  return source == PredicateSource::comm || source == PredicateSource::context ||
         source == PredicateSource::event || source == PredicateSource::comm_of_field ||
         (source == PredicateSource::field && field.meaning == Meaning::text);
}

Meaning FieldReference::meaning() const {
  if (source != PredicateSource::field) return Meaning::number;
  switch (part) {
    case FieldPart::error:
      return Meaning::errno_nr;
    case FieldPart::exit_signal:
      return Meaning::signo;
    case FieldPart::exit_core:
      return Meaning::boolean;
    case FieldPart::exit_status:
      return Meaning::number;
    case FieldPart::value:
      break;
  }
  return field.meaning;
}

FieldReference refer(const Event& event, std::string_view name) {
  if (name.starts_with(kArgs)) {
    name.remove_prefix(kArgs.size());
  } else if (const auto* own = std::ranges::find(
                 kSources, name, &std::pair<std::string_view, PredicateSource>::first);
             own != kSources.end()) {
    FieldReference reference;
    reference.source = own->second;
    return reference;
  }
  for (const Field& field : event.fields)
    if (field.name == name) return to_field(event, field);
  for (const Field& field : event.fields)
    for (const Annotation& annotation : annotations_of(field)) {
      if (annotation.name != name) continue;
      FieldReference reference = to_field(event, field);
      reference.source = annotation.source;
      reference.part = annotation.part;
      reference.is_annotation = true;
      return reference;
    }
  return {};
}

std::vector<std::string_view> predicate_names() {
  std::vector<std::string_view> names;
  names.reserve(kSources.size());
  for (const auto& [name, source] : kSources) names.push_back(name);
  return names;
}

void add_reference_names(const Event& event, std::set<std::string>& names) {
  for (const Field& field : event.fields) {
    names.insert(field.name);
    for (const Annotation& annotation : annotations_of(field)) names.insert(annotation.name);
  }
}

bool is_stored_field(const Event& event, std::string_view name) {
  const PredicateSource source = refer(event, name).source;
  return source == PredicateSource::field || source == PredicateSource::comm_of_field;
}

bool has_field(const Event& event, std::string_view name) {
  return refer(event, name).source != PredicateSource::none;
}

}  // namespace ktraced
