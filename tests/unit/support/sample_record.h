// SPDX-License-Identifier: BSD-2-Clause
// Records of any event, made from its schema.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "schema/schema.h"
#include "unit/support/packets.h"

namespace ktraced::test {

inline constexpr uint64_t kSampleTime = 18440883932456;  // ns

// Text is "text" and threads are `tid`. Other integers differ from each other: each byte is its
// place in the record, and those that can be negative are.
inline Bytes sample_record(const Event& event, uint32_t tid) {
  constexpr std::string_view kText = "text";
  const bool has_rest = !event.fields.empty() && event.fields.back().count == 0;
  const size_t size = (event.size + (has_rest ? kText.size() + 1 : 0) + 7) / 8 * 8;
  Bytes bytes(size);
  for (size_t i = sizeof(record); i < size; ++i) bytes[i] = std::byte(i);
  for (const Field& field : event.fields) {
    if (field.meaning == Meaning::tid) std::memcpy(&bytes[field.offset], &tid, field.size);
    if (field.meaning == Meaning::tid) continue;
    for (size_t i = 1; field.is_signed && i <= field.count; ++i)
      bytes[field.offset + field.size * i - 1] |= std::byte{0x80};
    if (field.meaning != Meaning::text) continue;
    const size_t length = field.count == 0 ? size - field.offset : field.count;
    std::fill_n(&bytes[field.offset], length, std::byte{0});
    std::ranges::copy(std::as_bytes(std::span(kText)), &bytes[field.offset]);
  }
  const record header{
      .ts = kSampleTime, .id = event.id, .size = static_cast<u16>(size), .tid = tid};
  std::memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

// A record of every event, by name.
inline std::map<std::string, Bytes> sample_records(const Schema& schema, uint32_t tid) {
  std::map<std::string, Bytes> records;
  for (const Event& event : schema.events()) records[event.name] = sample_record(event, tid);
  return records;
}

}  // namespace ktraced::test
