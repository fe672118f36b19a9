// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/account_record.h"

#include <algorithm>
#include <cstring>

#include "bpf/records.h"

namespace ktraced {

HitAccount& HitAccount::operator+=(const HitAccount& other) {
  recorded += other.recorded;
  filtered += other.filtered;
  dropped += other.dropped;
  missed += other.missed;
  return *this;
}

std::vector<std::byte> account_record(const EventHits& account, uint64_t ts) {
  const HitAccount& hits = account.hits;
  return record_bytes(rec_metadata_account{
      .h = {.ts = ts, .id = METADATA_account, .size = sizeof(rec_metadata_account), .tid = 0},
      .event = account.event,
      .reserved = 0,
      .recorded = hits.recorded,
      .filtered = hits.filtered,
      .dropped = hits.dropped,
      .missed = hits.missed,
      .reset = account.reset_ns});
}

std::optional<EventHits> account_of(RecordView view) {
  rec_metadata_account record{};
  if (view.id() != METADATA_account || view.bytes().size() < offsetof(rec_metadata_account, reset))
    return std::nullopt;
  std::memcpy(&record, view.bytes().data(), std::min(sizeof(record), view.bytes().size()));
  return EventHits{.event = record.event,
                   .hits = {.recorded = record.recorded,
                            .filtered = record.filtered,
                            .dropped = record.dropped,
                            .missed = record.missed},
                   .reset_ns = record.reset};
}

std::vector<std::byte> end_record(std::string_view reason, uint64_t ts) {
  constexpr size_t kReasonMax = 1024;
  reason = reason.substr(0, kReasonMax);
  std::vector<std::byte> bytes((sizeof(record) + reason.size() + 1 + 7) / 8 * 8);
  const record head{.ts = ts, .id = METADATA_end, .size = static_cast<u16>(bytes.size()), .tid = 0};
  std::memcpy(bytes.data(), &head, sizeof(head));
  std::memcpy(bytes.data() + sizeof(head), reason.data(), reason.size());
  return bytes;
}

std::optional<std::string> end_reason_of(RecordView view) {
  if (view.id() != METADATA_end || view.bytes().size() <= sizeof(record)) return std::nullopt;
  const auto bytes = view.bytes().subspan(sizeof(record));
  const char* text = reinterpret_cast<const char*>(bytes.data());
  return std::string(text, ::strnlen(text, bytes.size()));
}

}  // namespace ktraced
