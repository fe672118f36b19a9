// Reads the values of fields out of records.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "schema/schema.h"
#include "trace/packet.h"

namespace ktraced {

// One element of an integer field, sign-extended if the field is signed. Nothing
// if the record ends before it, or if it has no size of an integer.
[[nodiscard]] inline std::optional<uint64_t> integer_of(const Field& field, RecordView record,
                                                        size_t index = 0) {
  auto bytes = record.bytes();
  uint64_t at = field.offset + uint64_t{field.size} * index;
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

// A text field up to its first NUL, its end or the record's end. Valid as long
// as the record's bytes.
[[nodiscard]] inline std::string_view text_of(const Field& field, RecordView record) {
  auto bytes = record.bytes();
  if (field.offset >= bytes.size()) return {};
  size_t room = bytes.size() - field.offset;
  if (field.count != 0 && field.count < room) room = field.count;
  const char* text = reinterpret_cast<const char*>(bytes.data()) + field.offset;
  return {text, ::strnlen(text, room)};
}

// Is this a single integer, neither text nor an array?
[[nodiscard]] inline bool is_scalar(const Field& field) {
  return field.meaning != Meaning::text && field.count == 1;
}

}  // namespace ktraced
