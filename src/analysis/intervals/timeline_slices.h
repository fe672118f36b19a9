// SPDX-License-Identifier: BSD-2-Clause
// Slices of time in lanes, with bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ktraced {

// An interval with one activity, or several short ones merged under the longest activity.
struct TimelineSlice {
  uint64_t begin_ns = 0, end_ns = 0;
  uint32_t what = 0;     // the activity with the largest share
  uint64_t count = 1;    // number of merged slices
  uint64_t busy_ns = 0;  // total length; there may be gaps between merged slices
  uint64_t what_ns = 0;  // the part that is certainly `what`; for losses: events
};

// Keeps up to `limit` slices unchanged. Beyond that, merges successive short slices, then longer
// ones, until there is room again. Total counts and lengths do not change. Memory: 48 bytes for
// each slice, and a few for each lane.
class TimelineSlices {
 public:
  explicit TimelineSlices(size_t limit) : limit_(limit) {}

  // Slices of one lane must be added in time order.
  void add(uint32_t lane, const TimelineSlice& slice);
  // Adds one unmerged slice.
  void add(uint32_t lane, uint64_t begin_ns, uint64_t end_ns, uint32_t what, uint64_t count = 1) {
    const uint64_t ns = end_ns - begin_ns;
    add(lane, {begin_ns, end_ns, what, count, ns, ns});
  }

  [[nodiscard]] const std::vector<std::vector<TimelineSlice>>& lanes() const { return lanes_; }
  [[nodiscard]] size_t size() const { return size_; }
  // Slices that were added.
  [[nodiscard]] uint64_t added() const { return added_; }
  // Slices shorter than this may have been merged with their neighbours; 0: none were merged.
  [[nodiscard]] uint64_t grain_ns() const { return grain_ns_; }

 private:
  static constexpr uint64_t kFirstGrain = 1000;
  static constexpr uint32_t kMaxLanes = 65536;  // further lanes (damaged traces) share the last

  [[nodiscard]] bool joins(const TimelineSlice& last, const TimelineSlice& next) const;
  void coarsen();

  size_t limit_;
  std::vector<std::vector<TimelineSlice>> lanes_;
  size_t size_ = 0;
  uint64_t added_ = 0, grain_ns_ = 0;
};

}  // namespace ktraced
