// SPDX-License-Identifier: BSD-2-Clause
// Limits for the number and size of stored traces.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/output/trace_store.h"

namespace ktraced {

// Limits for the traces to keep.
struct Retention {
  uint64_t max_count = 0;
  uint64_t max_bytes = 0;
};

// Names of the traces to remove, oldest first; never the one called `keep`.
[[nodiscard]] std::vector<std::string> superfluous(std::vector<StoredTrace> traces,
                                                   const Retention& retention,
                                                   std::string_view keep);

// A snapshot that was removed because of a limit.
struct Eviction {
  std::string name;
  uint64_t bytes = 0;       // of all its files
  bool over_count = false;  // of the number; else of the size
};

// What is left although it exceeds the limits, because kept snapshots are not removed.
struct Excess {
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint64_t kept = 0;  // of the count
};

struct Enforced {
  Retention limits;
  std::vector<Eviction> evicted;  // oldest first
  std::optional<Excess> excess;
};

// Removes the oldest snapshots of the store beyond the limits, but neither kept ones nor the one
// called `newest`. Kept ones count. Other traces neither count nor are removed. Logs errors.
Enforced enforce(const TraceStore& store, const Retention& limits, std::string_view newest);

}  // namespace ktraced
