// SPDX-License-Identifier: BSD-2-Clause
// Logs and counts the snapshots that retention removes.
#pragma once

#include <cstdint>

#include "daemon/output/retention.h"

namespace ktraced {

// What has happened since the daemon began.
struct RetentionCounts {
  uint64_t evicted = 0;
  uint64_t evicted_bytes = 0;
  uint64_t limits_exceeded = 0;  // snapshots after which kept ones exceeded the limits

  bool operator==(const RetentionCounts&) const = default;
};

// Belongs to the main thread.
class RetentionLog {
 public:
  // Kept snapshots that exceed the limits are logged once, until the limits are met again.
  void add(const Enforced& enforced);

  [[nodiscard]] const RetentionCounts& counts() const { return counts_; }

 private:
  RetentionCounts counts_;
  bool exceeded_ = false;  // at the last one
};

}  // namespace ktraced
