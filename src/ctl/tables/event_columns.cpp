// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/tables/event_columns.h"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <utility>

#include "decoders/text/field_text.h"
#include "schema/annotations.h"
#include "trace/packet/field_value.h"

namespace ktraced {
namespace {

// Longer arrays are one text.
constexpr uint32_t kElements = 16;

bool is_annotation(EventValue value) {
  return value == EventValue::annotation || value == EventValue::exit_status ||
         value == EventValue::exit_signal || value == EventValue::exit_core ||
         value == EventValue::cut;
}

// The columns of a field; their names may be in use.
std::vector<EventColumn> columns_of(const Field& field) {
  std::vector<EventColumn> out;
  auto add = [&](std::string name, bool is_text, EventValue value, uint32_t index = 0) {
    std::string doc = is_annotation(value) ? "of " + field.name : field.doc;
    out.push_back({.column = {.name = std::move(name), .is_text = is_text, .doc = std::move(doc)},
                   .value = value,
                   .field = field.name,
                   .index = index});
  };
  if (field.meaning == Meaning::failed_fields) return out;
  if (field.meaning == Meaning::text) {
    add(field.name, true, EventValue::text);
  } else if (field.count == 1 && field.meaning == Meaning::slab_cache) {
    add(field.name, true, EventValue::cache);
  } else if (is_scalar(field)) {
    add(field.name, false, EventValue::number);
    if (std::string name = annotation_of(field); !name.empty())
      add(std::move(name), true, EventValue::annotation);
    if (field.meaning == Meaning::exit_code) {
      ExitAnnotations names = exit_annotations_of(field);
      add(std::move(names.status), false, EventValue::exit_status);
      add(std::move(names.signal), true, EventValue::exit_signal);
      add(std::move(names.core), false, EventValue::exit_core);
    }
  } else if (!field.located && field.count != 0 && field.count <= kElements) {
    for (uint32_t i = 0; i < field.count; ++i)
      add(fmt::format("{}_{}", field.name, i), false, EventValue::element, i);
  } else {
    add(field.name, true, EventValue::list);
  }
  if (field.located) add(field.name + "_cut", false, EventValue::cut);
  return out;
}

bool is_same_value(const EventColumn& a, const EventColumn& b) {
  return a.value == b.value && a.field == b.field && a.index == b.index;
}

bool has_name(std::span<const EventColumn> columns, const std::string& name) {
  // Names in SQL do not depend on the case of letters.
  return std::ranges::any_of(columns, [&](const EventColumn& each) {
    return ::strcasecmp(each.column.name.c_str(), name.c_str()) == 0;
  });
}

}  // namespace

std::vector<EventColumn> common_columns(bool stacks) {
  auto column = [](const char* name, bool is_text, const char* doc, EventValue value,
                   Limits limits) {
    return EventColumn{.column = {.name = name, .is_text = is_text, .doc = doc, .limits = limits},
                       .value = value};
  };
  std::vector<EventColumn> columns = {
      column("ts", false, "time: ns since boot", EventValue::ts, Limits::time),
      column("wall", true, "the same as wall-clock time, UTC", EventValue::wall, Limits::wall),
      column("cpu", false, "the CPU of the event", EventValue::cpu, Limits::cpu),
      column("tid", false, "the thread that ran; 0: an idle task", EventValue::tid, Limits::tid),
      column("pid", false, "its process", EventValue::pid, Limits::pid),
      column("comm", true, "the name of the thread at that time", EventValue::comm,
             Limits::nothing),
      column("context", true, "task, softirq, hardirq or nmi; NULL: unknown", EventValue::context,
             Limits::nothing),
  };
  if (!stacks) return columns;
  columns.push_back(column("kernel_stack", false, "number of the stack in the kernel; NULL: none",
                           EventValue::kernel_stack, Limits::nothing));
  columns.push_back(column("user_stack", false, "number of the stack in the process; NULL: none",
                           EventValue::user_stack, Limits::nothing));
  return columns;
}

std::vector<EventColumn> columns_of(std::span<const Event* const> versions, bool stacks) {
  std::vector<EventColumn> all = common_columns(stacks);
  for (const Event* version : versions) {
    for (const Field& field : version->fields) {
      for (EventColumn& column : columns_of(field)) {
        const auto same = [&](const EventColumn& each) { return is_same_value(each, column); };
        if (std::ranges::any_of(all, same)) continue;
        while (has_name(all, column.column.name)) column.column.name.insert(0, "arg_");
        all.push_back(std::move(column));
      }
    }
  }
  return all;
}

EventAccess access_of(std::span<const EventColumn> columns, const Event& event) {
  EventAccess access;
  for (const EventColumn& column : columns) {
    FieldAccess& each = access.columns.emplace_back();
    each.value = column.value;
    each.index = column.index;
    if (column.field.empty()) continue;
    const auto field = std::ranges::find(event.fields, column.field, &Field::name);
    const auto has = [&] {
      return field != event.fields.end() &&
             std::ranges::any_of(columns_of(*field), [&](const EventColumn& of_field) {
               return is_same_value(of_field, column);
             });
    };
    if (!has()) {
      each.value = EventValue::absent;
      continue;
    }
    each.field = *field;
    each.number = static_cast<size_t>(field - event.fields.begin());
    each.context = context_of(event, field->meaning);
  }
  const bool can_fail = std::ranges::any_of(
      event.fields, [](const Field& field) { return field.meaning == Meaning::failed_fields; });
  if (can_fail) access.failed.emplace(event);
  return access;
}

}  // namespace ktraced
