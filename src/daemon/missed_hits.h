// SPDX-License-Identifier: BSD-2-Clause
// Hits that the kernel skipped, as far as they concern one of several traces.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>

namespace ktraced {

// Numbers of hits by event.
using HitCounts = std::map<std::string, uint64_t>;

// What `now` has more than `before`; events without any are not in it.
[[nodiscard]] HitCounts increase(const HitCounts& before, const HitCounts& now);

// How many hits had been skipped at some moment between two times (ns, CLOCK_BOOTTIME).
struct MissedReading {
  uint64_t from_ns = 0;
  uint64_t until_ns = 0;
  HitCounts counts;  // since the programs were loaded; events without any may be left out
};

// The kernel does not say when it skipped a hit: only how many it has skipped so far. From
// readings of that number made now and then this tells how many a span of time can have had,
// and never too few: those between two readings are told of each span that this time touches,
// so mostly of one, and near the edge of two spans of both.
class MissedHits {
 public:
  // Readings that no span from `oldest_begin` on can need are forgotten.
  void note(MissedReading reading, uint64_t oldest_begin);
  // Is there a reading from after that time?
  [[nodiscard]] bool read_since(uint64_t end) const;
  // What may have been skipped in a span of time. If nothing was read_since(end) the last
  // reading must do.
  [[nodiscard]] HitCounts within(uint64_t begin, uint64_t end) const;

 private:
  std::deque<MissedReading> readings_;
};

}  // namespace ktraced
