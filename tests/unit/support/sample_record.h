// SPDX-License-Identifier: BSD-2-Clause
// A record of any event, made from its schema.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "schema/schema.h"
#include "unit/support/packets.h"

namespace ktraced::test {

inline constexpr uint64_t kSampleTime = 18440883932456;  // ns

// Text is "text", threads are `tid`, and each other byte is its place in the record.
inline Bytes sample_record(const Event& event, uint32_t tid) {
  constexpr std::string_view kText = "text";
  const bool has_rest = !event.fields.empty() && event.fields.back().count == 0;
  const size_t size = (event.size + (has_rest ? kText.size() + 1 : 0) + 7) / 8 * 8;
  Bytes bytes(size);
  for (size_t i = sizeof(record); i < size; ++i) bytes[i] = std::byte(i);
  for (const Field& field : event.fields) {
    if (field.meaning == Meaning::tid) std::memcpy(&bytes[field.offset], &tid, field.size);
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

}  // namespace ktraced::test
