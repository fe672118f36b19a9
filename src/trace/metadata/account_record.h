// SPDX-License-Identifier: BSD-2-Clause
// Metadata records for the end of a session: what became of its hits, and why it has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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
  uint64_t reset_ns = 0;  // CLOCK_BOOTTIME: the hits are since then; 0: since the session began
};

// A rec_metadata_account of a session that ended at `ts`.
[[nodiscard]] std::vector<std::byte> account_record(const EventHits& account, uint64_t ts);

// The account in such a record; nothing if `record` is of another kind.
[[nodiscard]] std::optional<EventHits> account_of(RecordView record);

// A rec_metadata_end at `ts`; `reason`: a sentence.
[[nodiscard]] std::vector<std::byte> end_record(std::string_view reason, uint64_t ts);

// The reason in such a record; nothing if `record` is of another kind.
[[nodiscard]] std::optional<std::string> end_reason_of(RecordView record);

}  // namespace ktraced
