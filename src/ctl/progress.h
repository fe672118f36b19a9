// SPDX-License-Identifier: BSD-2-Clause
// A line on the terminal that says how something goes on that takes its time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "trace/manifest.h"

namespace ktraced {

// Written over and over; nothing if standard error is no terminal.
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

// How a recording goes on.
class Progress {
 public:
  static constexpr std::chrono::milliseconds kInterval{500};

  // `total` so far, in `bytes` of files.
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
