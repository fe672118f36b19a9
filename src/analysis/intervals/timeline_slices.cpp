// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/timeline_slices.h"

#include <algorithm>

namespace ktraced {
namespace {

// Merges `next` into `last`.
void join(TimelineSlice& last, const TimelineSlice& next) {
  last.end_ns = std::max(last.end_ns, next.end_ns);
  last.count += next.count;
  last.busy_ns += next.busy_ns;
  if (last.what == next.what) {
    last.what_ns += next.what_ns;
  } else if (next.what_ns > last.what_ns) {
    last.what = next.what;
    last.what_ns = next.what_ns;
  }
}

}  // namespace

void TimelineSlices::add(uint32_t lane, const TimelineSlice& slice) {
  lane = std::min(lane, kMaxLanes - 1);
  if (lane >= lanes_.size()) lanes_.resize(lane + size_t{1});
  ++added_;
  auto& slices = lanes_[lane];
  if (!slices.empty() && joins(slices.back(), slice)) return join(slices.back(), slice);
  slices.push_back(slice);
  if (++size_ > limit_) coarsen();
}

// Time is divided into pieces of one grain. Slices that are shorter than a grain and begin in the
// same piece are merged, unless a longer one is between them. So there are at most three in a
// piece.
bool TimelineSlices::joins(const TimelineSlice& last, const TimelineSlice& next) const {
  return grain_ns_ != 0 && last.end_ns - last.begin_ns < grain_ns_ &&
         next.end_ns - next.begin_ns < grain_ns_ &&
         last.begin_ns / grain_ns_ == next.begin_ns / grain_ns_;
}

// Reduces to somewhat below the limit, so that this happens rarely; or as far as possible when
// there are too many lanes.
void TimelineSlices::coarsen() {
  constexpr uint64_t kCoarsest = uint64_t{1} << 62;
  while (size_ > limit_ - limit_ / 8 && grain_ns_ < kCoarsest) {
    grain_ns_ = grain_ns_ == 0 ? kFirstGrain : 2 * grain_ns_;
    size_ = 0;
    for (auto& slices : lanes_) {
      std::vector<TimelineSlice> joined;
      for (const TimelineSlice& slice : slices) {
        if (!joined.empty() && joins(joined.back(), slice))
          join(joined.back(), slice);
        else
          joined.push_back(slice);
      }
      size_ += joined.size();
      slices = std::move(joined);
    }
  }
}

}  // namespace ktraced
