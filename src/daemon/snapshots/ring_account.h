// SPDX-License-Identifier: BSD-2-Clause
// What the counters and the trace config say of the content of flight rings.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bpf/records.h"
#include "schema/schema.h"
#include "trace/directory/manifest.h"

namespace ktraced {

// What is known of one CPU's ring in a frozen bank.
struct RingContent {
  uint64_t capacity = 0;          // bytes
  std::vector<uint64_t> written;  // by the programs' counters: records, by event id
  uint64_t written_bytes = 0;     // by the ring's head
  uint64_t found_bytes = 0;       // of the whole records found in the ring
  bool intact = true;             // each record found was followed by another valid one
};

// Computes what the ring has overwritten: written = records + overwritten, for each event.
// `account` has the records that are in the trace. Returns contradictions, in numbers of records or
// bytes. With any of these, the trace is not complete.
[[nodiscard]] std::vector<std::string> balance(const Schema& schema, const RingContent& ring,
                                               CpuAccount& account);

// Removes what the manifest has of the time before the first CPU begins: config changes, and missed
// hits of events that were off from then on. The kernel gives no time for those of other events.
void restrict_to_window(Manifest& manifest);

}  // namespace ktraced
