// SPDX-License-Identifier: BSD-2-Clause
// Hits that the kernel missed, attributed to the traces they may belong to.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace ktraced {

// Numbers of hits by event.
using HitCounts = std::map<std::string, uint64_t>;

// The number of missed hits at a time between the two given times (ns, CLOCK_BOOTTIME).
struct MissedReading {
  uint64_t from_ns = 0;
  uint64_t until_ns = 0;
  HitCounts counts;  // so far, never less than before; events without misses may be left out
};

// Estimates how many hits were missed in a span of time. The kernel only counts missed hits; it
// does not record their times. The counters are read from time to time, and the estimate is never
// too low. Hits missed between two readings are counted for every span that overlaps this interval.
// That is mostly one span; near the border of two spans it is both.
class MissedHits {
 public:
  // Evicts readings that no span from `oldest_begin` on can need.
  void note(MissedReading reading, uint64_t oldest_begin);
  // True if there is a reading taken after that time.
  [[nodiscard]] bool read_since(uint64_t end) const;
  // The hits that may have been missed in a span of time. Without a reading since `end` the last
  // reading is used.
  [[nodiscard]] HitCounts within(uint64_t begin, uint64_t end) const;

 private:
  std::deque<MissedReading> readings_;
};

}  // namespace ktraced
