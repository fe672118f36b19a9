// SPDX-License-Identifier: BSD-2-Clause
// What the wall clock was while traces recorded.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trace/directory/time_window.h"

namespace ktraced {

class History;

// The times of a trace, or of a history, to which those typed are related.
struct HistoryTimes {
  TimeWindow extent;            // from its first to its last record
  int64_t clock_offset_ns = 0;  // CLOCK_REALTIME minus CLOCK_BOOTTIME; 0: unknown

  [[nodiscard]] bool has_records() const { return extent.begin_ns <= extent.end_ns; }
};

// The relation of the clocks from a time on, until the next of these. The first one also holds
// before.
struct ClockOffset {
  uint64_t since_ns = 0;  // CLOCK_BOOTTIME
  int64_t offset_ns = 0;  // CLOCK_REALTIME minus CLOCK_BOOTTIME; 0: unknown
};
// The clock offsets of the traces of a history, in time order.
[[nodiscard]] std::vector<ClockOffset> clock_offsets(const History& history);
// The offset that holds at that time; 0: it is not known.
[[nodiscard]] int64_t offset_at(std::span<const ClockOffset> clocks, uint64_t boottime_ns);

// CLOCK_REALTIME at a time of CLOCK_BOOTTIME, which is `clock_offset_ns` less.
[[nodiscard]] uint64_t realtime_of(uint64_t boottime_ns, int64_t clock_offset_ns);

// CLOCK_BOOTTIME at a time of CLOCK_REALTIME, within the limits of these numbers: times before the
// boot are the boot.
[[nodiscard]] uint64_t boottime_at(uint64_t realtime_ns, int64_t clock_offset_ns);

// How far two windows are from each other; 0: they overlap.
[[nodiscard]] uint64_t distance(const TimeWindow& a, const TimeWindow& b);

// Finds wall-clock times in traces. Each trace has its own relation of the clocks: the wall clock
// may have been set between them.
class WallClocks {
 public:
  // `traces` is not empty, each trace has records and a clock offset, and all must outlive this.
  explicit WallClocks(std::span<const HistoryTimes> traces);

  // The time since boot of a CLOCK_REALTIME: the last one that is in a trace, else the one that is
  // nearest to a trace.
  [[nodiscard]] uint64_t boottime_of(uint64_t realtime_ns) const;
  // The time since boot of a local time of day on a day of the traces and within `limits`. Of
  // several that are in a trace it is the first or the last one; if none is, it is the nearest one.
  enum class Pick : uint8_t { first, last };
  [[nodiscard]] uint64_t of_day(uint64_t of_day, const TimeWindow& limits, Pick pick) const;
  // The times since boot from one local time of day to the next `until`, which may be on the
  // following day: the last such window in which a trace recorded, else the nearest one. It ends
  // before it begins if `until` seems to be that of the same day.
  [[nodiscard]] TimeWindow of_day(uint64_t since, uint64_t until) const;

 private:
  struct Found {
    TimeWindow window;            // CLOCK_BOOTTIME
    int64_t clock_offset_ns = 0;  // of the nearest trace
    uint64_t far_ns = 0;          // from the nearest trace; 0: a trace recorded in it
  };
  [[nodiscard]] Found find(const TimeWindow& realtime) const;
  [[nodiscard]] TimeWindow realtime_window(int day, uint64_t since, uint64_t until) const;
  [[nodiscard]] bool is_inside(const TimeWindow& realtime) const;

  std::span<const HistoryTimes> traces_;
  TimeWindow extent_;    // CLOCK_BOOTTIME, of all traces
  TimeWindow realtime_;  // CLOCK_REALTIME, of all traces
  int first_day_ = 0;    // relative to the last one, on which they end
};

}  // namespace ktraced
