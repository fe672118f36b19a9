// SPDX-License-Identifier: BSD-2-Clause
// Does what a flight ring holds agree with what the programs counted?
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bpf/records.h"
#include "schema/schema.h"
#include "trace/manifest.h"

namespace ktraced {

// What is known of one CPU's ring in a frozen bank.
struct RingContent {
  uint64_t capacity = 0;          // bytes
  std::vector<uint64_t> written;  // by the programs' counters: records, by event id
  uint64_t written_bytes = 0;     // by the ring's head
  uint64_t found_bytes = 0;       // of the whole records found in the ring
  bool intact = true;             // every record found led to the next
};

// Fills in what the ring has overwritten: written = records + overwritten, for each event.
// `account` holds the records that are in the trace. Returns what contradicts that, in numbers
// of records or of bytes: then the trace is not complete.
[[nodiscard]] std::vector<std::string> settle(const Schema& schema, const RingContent& ring,
                                              CpuAccount& account);

}  // namespace ktraced
