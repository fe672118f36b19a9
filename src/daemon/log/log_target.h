// SPDX-License-Identifier: BSD-2-Clause
// Where the records of a LogWriter go.
#pragma once

#include <cstdint>
#include <string>

namespace ktraced {

// Belongs to the writer's thread, but for lost_record().
class LogTarget {
 public:
  LogTarget() = default;
  LogTarget(const LogTarget&) = delete;
  LogTarget& operator=(const LogTarget&) = delete;
  virtual ~LogTarget() = default;

  // Writes a record, or loses it. False if nothing reads the target for `timeout_ms`: the same
  // record can be tried again.
  virtual bool try_put(const std::string& record, int timeout_ms) = 0;
  // The record that reports lost ones.
  [[nodiscard]] virtual std::string lost_record(uint64_t lost) const = 0;
};

}  // namespace ktraced
