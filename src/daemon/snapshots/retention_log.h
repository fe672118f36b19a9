// SPDX-License-Identifier: BSD-2-Clause
// Logs and counts the snapshots that retention removes.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

#include "daemon/output/retention.h"

namespace ktraced {

// Belongs to the main thread.
class RetentionLog {
 public:
  // Kept snapshots that exceed the limits are logged once, until the limits are met again.
  void add(const Enforced& enforced);

  // What has happened since the daemon began, as keys of `flight` in `status`.
  [[nodiscard]] nlohmann::json counts() const;

 private:
  uint64_t evicted_ = 0;
  uint64_t evicted_bytes_ = 0;
  uint64_t limits_exceeded_ = 0;  // snapshots after which kept ones exceeded the limits
  bool exceeded_ = false;         // at the last one
};

}  // namespace ktraced
