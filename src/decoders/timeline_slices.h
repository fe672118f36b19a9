// SPDX-License-Identifier: BSD-2-Clause
// Slices of time in lanes, as many as there is room for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ktraced {

// A time in which one thing went on; or several short ones, in which mostly one thing did.
struct TimelineSlice {
  uint64_t begin_ns = 0, end_ns = 0;
  uint32_t what = 0;     // that had most of the time
  uint64_t count = 1;    // slices that this one is made of
  uint64_t busy_ns = 0;  // their lengths together: there may be gaps between them
  uint64_t what_ns = 0;  // of that, what is certain to be of `what`; of losses: events
};

// Keeps slices as they are while there are at most `limit`; then makes one of short ones that
// follow each other, and ever longer ones, until it has room again. Counts and lengths stay as
// they were. Memory: 48 bytes for each slice, and a few for each lane.
class TimelineSlices {
 public:
  explicit TimelineSlices(size_t limit) : limit_(limit) {}

  // In each lane, slices come one after the other.
  void add(uint32_t lane, const TimelineSlice& slice);
  // One slice as it happened.
  void add(uint32_t lane, uint64_t begin_ns, uint64_t end_ns, uint32_t what, uint64_t count = 1) {
    const uint64_t ns = end_ns - begin_ns;
    add(lane, {begin_ns, end_ns, what, count, ns, ns});
  }

  [[nodiscard]] const std::vector<std::vector<TimelineSlice>>& lanes() const { return lanes_; }
  [[nodiscard]] size_t size() const { return size_; }
  // Slices that were added.
  [[nodiscard]] uint64_t added() const { return added_; }
  // Slices shorter than that may have been made one with their neighbours; 0: none have.
  [[nodiscard]] uint64_t grain_ns() const { return grain_ns_; }

 private:
  static constexpr uint64_t kFirstGrain = 1000;
  static constexpr uint32_t kMaxLanes = 65536;  // those beyond, of damaged traces, share the last

  [[nodiscard]] bool joins(const TimelineSlice& last, const TimelineSlice& next) const;
  void coarsen();

  size_t limit_;
  std::vector<std::vector<TimelineSlice>> lanes_;
  size_t size_ = 0;
  uint64_t added_ = 0, grain_ns_ = 0;
};

}  // namespace ktraced
