// SPDX-License-Identifier: BSD-2-Clause
// Metadata records for what became of a session's hits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "trace/packet/packet.h"

namespace ktraced {

// hits = recorded + filtered + dropped + missed
struct HitAccount {
  uint64_t recorded = 0;
  uint64_t filtered = 0;
  uint64_t dropped = 0;
  uint64_t missed = 0;

  HitAccount& operator+=(const HitAccount& other);
  bool operator==(const HitAccount&) const = default;
};

// The account of one event.
struct EventHits {
  uint32_t event = 0;  // id; 0: the sums of all events
  HitAccount hits;
};

// A rec_metadata_account of a session that ended at `ts`.
[[nodiscard]] std::vector<std::byte> account_record(const EventHits& account, uint64_t ts);

// The account in such a record; nothing if `record` is of another kind.
[[nodiscard]] std::optional<EventHits> account_of(RecordView record);

}  // namespace ktraced
