// SPDX-License-Identifier: BSD-2-Clause
// Reads the values of fields out of records.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "schema/schema.h"
#include "trace/packet/packet.h"

namespace ktraced {

// Location of a field's elements in a record.
struct Elements {
  size_t offset = 0;
  size_t count = 0;
  bool cut = false;  // truncated: the record had no room for more
};

// For a trailing string the count is the number of bytes to the record's end. Does not check that
// the record is long enough.
[[nodiscard]] inline Elements elements_of(const Field& field, RecordView record) {
  const auto bytes = record.bytes();
  if (!field.located) {
    const size_t rest = bytes.size() - std::min<size_t>(field.offset, bytes.size());
    return {.offset = field.offset, .count = field.count != 0 ? field.count : rest};
  }
  uint32_t word = 0;
  if (field.offset + sizeof(word) > bytes.size()) return {};
  std::memcpy(&word, bytes.data() + field.offset, sizeof(word));
  return {.offset = word & LOCATED_OFFSET,
          .count = word >> LOCATED_COUNT_SHIFT,
          .cut = (word & LOCATED_CUT) != 0};
}

// An integer in the record's bytes at `at`, sign-extended if the field is signed. Nothing if the
// record is too short, or if the field's size is not that of an integer.
[[nodiscard]] inline std::optional<uint64_t> integer_at(const Field& field, RecordView record,
                                                        uint64_t at) {
  auto bytes = record.bytes();
  if (at + field.size > bytes.size()) return std::nullopt;
  auto read = [&]<class Unsigned, class Signed>(Unsigned value, Signed) -> uint64_t {
    std::memcpy(&value, bytes.data() + at, sizeof(value));
    return field.is_signed ? static_cast<uint64_t>(int64_t{static_cast<Signed>(value)}) : value;
  };
  switch (field.size) {
    case 1:
      return read(uint8_t{}, int8_t{});
    case 2:
      return read(uint16_t{}, int16_t{});
    case 4:
      return read(uint32_t{}, int32_t{});
    case 8:
      return read(uint64_t{}, int64_t{});
    default:
      return std::nullopt;
  }
}

// Element `index` of an integer field, sign-extended if the field is signed. Nothing if a located
// field has no such element, if the record is too short, or if the field's size is not that of an
// integer. Of other fields, `index` must be below their count.
[[nodiscard]] inline std::optional<uint64_t> integer_of(const Field& field, RecordView record,
                                                        size_t index = 0) {
  if (!field.located) return integer_at(field, record, field.offset + uint64_t{field.size} * index);
  const Elements elements = elements_of(field, record);
  if (index >= elements.count) return std::nullopt;
  return integer_at(field, record, elements.offset + uint64_t{field.size} * index);
}

// A text field up to its first NUL, its end or the record's end. Valid as long
// as the record's bytes.
[[nodiscard]] inline std::string_view text_of(const Field& field, RecordView record) {
  const auto bytes = record.bytes();
  const Elements elements = elements_of(field, record);
  if (elements.offset >= bytes.size()) return {};
  const size_t room = std::min(elements.count, bytes.size() - elements.offset);
  const char* text = reinterpret_cast<const char*>(bytes.data()) + elements.offset;
  return {text, ::strnlen(text, room)};
}

// Where the field's elements end; those of a trailing string with its NUL.
[[nodiscard]] inline size_t end_of(const Field& field, RecordView record) {
  const Elements elements = elements_of(field, record);
  if (!field.located && field.count == 0)
    return elements.offset + text_of(field, record).size() + 1;
  return elements.offset + elements.count * field.size;
}

// Is this a single integer, neither text nor an array?
[[nodiscard]] inline bool is_scalar(const Field& field) {
  return field.meaning != Meaning::text && field.count == 1;
}

}  // namespace ktraced
