// SPDX-License-Identifier: BSD-2-Clause
// Numbers whose names are known although the schema calls them plain numbers.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "schema/names.h"

namespace ktraced {
namespace {

struct NamedField {
  std::string_view event;
  std::string_view field;
  Meaning meaning;
};

constexpr NamedField kNamed[] = {
    {"task:task_newtask", "clone_flags", Meaning::clone_flags},
    {"signal_deliver", "sa_flags", Meaning::sa_flags},
    {"signal:signal_deliver", "sa_flags", Meaning::sa_flags},
};

}  // namespace

Meaning named_meaning(const Event& event, const Field& field) {
  if (field.meaning != Meaning::number && field.meaning != Meaning::hex) return field.meaning;
  const auto* known = std::ranges::find_if(kNamed, [&](const NamedField& each) {
    return each.event == event.name && each.field == field.name;
  });
  return known != std::end(kNamed) && field.count == 1 ? known->meaning : field.meaning;
}

Event with_named_meanings(Event event) {
  for (Field& field : event.fields) field.meaning = named_meaning(event, field);
  return event;
}

}  // namespace ktraced
