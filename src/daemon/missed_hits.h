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

// The kernel does not say when it skipped a hit: only how many it has skipped so far. From
// readings of that number made now and then this tells how many a span of time can have had,
// and never too few: one near its edge may be told of two spans that follow each other.
class MissedHits {
 public:
  // Readings must come in the order of their time `ts`, which was taken after the reading. Those
  // that no span from `oldest_begin` on can need are forgotten.
  void note(uint64_t ts, HitCounts counts, uint64_t oldest_begin);
  // What may have been skipped from `begin` to the last reading.
  [[nodiscard]] HitCounts since(uint64_t begin) const;

 private:
  struct Reading {
    uint64_t ts;
    HitCounts counts;
  };
  std::deque<Reading> readings_;
};

}  // namespace ktraced
