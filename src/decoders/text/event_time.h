// SPDX-License-Identifier: BSD-2-Clause
// The times of events in text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decoders/text/text_buffer.h"

namespace ktraced {

enum class TimeForm : uint8_t {
  boot,   // "18440.883932": seconds since boot
  wall,   // "14:03:21.500000": local time
  delta,  // "+0.000123": seconds since the previous event that was written
  iso,    // "2026-11-23T14:03:21.500000+01:00"
};

[[nodiscard]] std::optional<TimeForm> time_form_named(std::string_view name);
[[nodiscard]] const std::vector<std::string>& time_form_names();

// Writes the times of events, in the order of their lines.
class EventTime {
 public:
  // Records have the time of CLOCK_BOOTTIME; CLOCK_REALTIME is `clock_offset_ns` more.
  explicit EventTime(TimeForm form = TimeForm::boot, int64_t clock_offset_ns = 0)
      : form_(form), clock_offset_ns_(clock_offset_ns) {}

  [[nodiscard]] TimeForm form() const { return form_; }
  void append(uint64_t ts, TextBuffer& out);

 private:
  void append_delta(uint64_t ts, TextBuffer& out);
  void append_local(uint64_t realtime_ns, TextBuffer& out);

  TimeForm form_;
  int64_t clock_offset_ns_;
  uint64_t last_ns_ = 0;          // ts of the previous event; 0: none
  uint64_t second_ = UINT64_MAX;  // CLOCK_REALTIME of the texts
  std::string before_, zone_;     // of that second: "14:03:21", "+01:00"
};

}  // namespace ktraced
