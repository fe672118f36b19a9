// SPDX-License-Identifier: BSD-2-Clause
// Records of any event, made from its schema.
#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/schema.h"
#include "unit/support/packets.h"

namespace ktraced::test {

inline constexpr uint64_t kSampleTime = 18440883932456;  // ns

// Text is "text" and threads are `tid`. Other integers differ from each other: each byte is its
// place in the record, and those that can be negative are.
inline Bytes sample_record(const Event& event, uint32_t tid) {
  constexpr std::string_view kText = "text";
  const bool has_rest = !event.fields.empty() && event.fields.back().count == 0;
  const auto located = std::ranges::count(event.fields, true, &Field::located);
  const size_t texts = static_cast<size_t>(located) + (has_rest ? 1 : 0);
  const size_t size = (event.size + texts * (kText.size() + 1) + 7) / 8 * 8;
  size_t end = event.size + (has_rest ? kText.size() + 1 : 0);  // of the texts so far
  Bytes bytes(size);
  for (size_t i = sizeof(record); i < size; ++i) bytes[i] = std::byte(i);
  std::vector<size_t> texts_at;
  for (const Field& field : event.fields) {
    if (field.meaning == Meaning::tid) std::memcpy(&bytes[field.offset], &tid, field.size);
    if (field.meaning == Meaning::tid) continue;
    for (size_t i = 1; field.is_signed && !field.located && i <= field.count; ++i)
      bytes[field.offset + field.size * i - 1] |= std::byte{0x80};
    if (field.meaning != Meaning::text) continue;
    if (field.located) {
      const auto word = static_cast<u32>(end | (kText.size() + 1) << LOCATED_COUNT_SHIFT);
      std::memcpy(&bytes[field.offset], &word, sizeof(word));
      texts_at.push_back(end);
      end += kText.size() + 1;
      continue;
    }
    const size_t length = field.count == 0 ? size - field.offset : field.count;
    std::fill_n(&bytes[field.offset], length, std::byte{0});
    std::ranges::copy(std::as_bytes(std::span(kText)), &bytes[field.offset]);
  }
  for (const size_t at : texts_at) {
    std::fill_n(&bytes[at], size - at, std::byte{0});
    std::ranges::copy(std::as_bytes(std::span(kText)), &bytes[at]);
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
