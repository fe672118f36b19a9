// SPDX-License-Identifier: BSD-2-Clause
// A progress line on the terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "trace/directory/manifest.h"

namespace ktraced {

// A line that is overwritten with each update; disabled if standard error is not a terminal.
class StatusLine {
 public:
  StatusLine();
  // Removes the line.
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  [[nodiscard]] bool shown() const { return shown_; }
  void show(std::string_view text) const;

 private:
  bool shown_;
};

// The progress of a recording.
class Progress {
 public:
  static constexpr std::chrono::milliseconds kInterval{500};

  // `total` so far, in files of `bytes` bytes.
  void update(const EventAccount& total, uint64_t bytes);

  // "1,234,567 events (12,345/s), 0 lost, 56 MiB"
  static std::string text(const EventAccount& total, double events_per_second, uint64_t bytes);

 private:
  using Clock = std::chrono::steady_clock;

  StatusLine line_;
  Clock::time_point last_ = Clock::now();
  uint64_t last_events_ = 0;
};

}  // namespace ktraced
