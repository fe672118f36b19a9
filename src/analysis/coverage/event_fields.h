// SPDX-License-Identifier: BSD-2-Clause
// Fields of known events, by name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "schema/schema.h"
#include "trace/packet/field_value.h"

namespace ktraced {

// Nothing if this version of the event has no such field.
[[nodiscard]] inline std::optional<Field> field_named(const Event& event, std::string_view name) {
  const auto field = std::ranges::find(event.fields, name, &Field::name);
  if (field == event.fields.end()) return std::nullopt;
  return *field;
}

// One element of an integer field; 0 if there is none, or the record is too short.
[[nodiscard]] inline uint64_t value_or_zero(const std::optional<Field>& field, RecordView record,
                                            size_t index = 0) {
  return field ? integer_of(*field, record, index).value_or(0) : 0;
}

// A field of 32 bits with a sign, in the same way.
[[nodiscard]] inline int32_t int_or_zero(const std::optional<Field>& field, RecordView record) {
  return static_cast<int32_t>(value_or_zero(field, record));
}

}  // namespace ktraced
