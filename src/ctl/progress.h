// A line on the terminal that says how a recording goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "trace/manifest.h"

namespace ktraced {

// Written over and over; nothing if standard error is no terminal.
class Progress {
 public:
  static constexpr std::chrono::milliseconds kInterval{500};

  Progress();
  // Removes the line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `total` so far, in `bytes` of files.
  void update(const EventAccount& total, uint64_t bytes);

  // "1,234,567 events (12,345/s), 0 lost, 56 MiB"
  static std::string text(const EventAccount& total, double events_per_second, uint64_t bytes);

 private:
  using Clock = std::chrono::steady_clock;

  bool shown_;
  Clock::time_point last_ = Clock::now();
  uint64_t last_events_ = 0;
};

}  // namespace ktraced
