// SPDX-License-Identifier: BSD-2-Clause
#include "trace/metadata/account_record.h"

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
  const rec_metadata_account record{
      .h = {.ts = ts, .id = METADATA_account, .size = sizeof(record), .tid = 0},
      .event = account.event,
      .reserved = 0,
      .recorded = hits.recorded,
      .filtered = hits.filtered,
      .dropped = hits.dropped,
      .missed = hits.missed};
  std::vector<std::byte> bytes(sizeof(record));
  std::memcpy(bytes.data(), &record, sizeof(record));
  return bytes;
}

std::optional<EventHits> account_of(RecordView view) {
  rec_metadata_account record;
  if (view.id() != METADATA_account || view.bytes().size() < sizeof(record)) return std::nullopt;
  std::memcpy(&record, view.bytes().data(), sizeof(record));
  return EventHits{.event = record.event,
                   .hits = {.recorded = record.recorded,
                            .filtered = record.filtered,
                            .dropped = record.dropped,
                            .missed = record.missed}};
}

}  // namespace ktraced
