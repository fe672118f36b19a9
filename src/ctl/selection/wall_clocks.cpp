// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/selection/wall_clocks.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/text/time_point.h"
#include "trace/merge/history.h"

namespace ktraced {
namespace {

constexpr int kMaxDays = 10'000;  // more than a machine runs: the times of a trace are not trusted

}  // namespace

std::vector<ClockOffset> clock_offsets(const History& history) {
  std::vector<ClockOffset> clocks;
  clocks.reserve(history.traces().size());
  for (const TraceReader& trace : history.traces())
    clocks.push_back(
        {.since_ns = trace.begin_ns(), .offset_ns = trace.manifest().origin.clock_offset_ns});
  return clocks;
}

int64_t offset_at(std::span<const ClockOffset> clocks, uint64_t boottime_ns) {
  if (clocks.empty()) return 0;
  const auto after = std::ranges::upper_bound(clocks, boottime_ns, {}, &ClockOffset::since_ns);
  return after == clocks.begin() ? clocks.front().offset_ns : std::prev(after)->offset_ns;
}

uint64_t realtime_of(uint64_t boottime_ns, int64_t clock_offset_ns) {
  return boottime_ns + static_cast<uint64_t>(clock_offset_ns);
}

uint64_t boottime_at(uint64_t realtime_ns, int64_t clock_offset_ns) {
  const uint64_t distance = clock_offset_ns < 0 ? 0 - static_cast<uint64_t>(clock_offset_ns)
                                                : static_cast<uint64_t>(clock_offset_ns);
  if (clock_offset_ns >= 0) return realtime_ns - std::min(realtime_ns, distance);
  return realtime_ns + std::min(UINT64_MAX - realtime_ns, distance);
}

uint64_t distance(const TimeWindow& a, const TimeWindow& b) {
  if (a.end_ns < b.begin_ns) return b.begin_ns - a.end_ns;
  return a.begin_ns > b.end_ns ? a.begin_ns - b.end_ns : 0;
}

namespace {

// The extent as CLOCK_REALTIME.
TimeWindow realtime_extent(const HistoryTimes& trace) {
  return {.begin_ns = realtime_of(trace.extent.begin_ns, trace.clock_offset_ns),
          .end_ns = realtime_of(trace.extent.end_ns, trace.clock_offset_ns)};
}

}  // namespace

WallClocks::WallClocks(std::span<const HistoryTimes> traces)
    : traces_(traces),
      extent_{.begin_ns = UINT64_MAX, .end_ns = 0},
      realtime_{.begin_ns = UINT64_MAX, .end_ns = 0} {
  for (const HistoryTimes& trace : traces_) {
    const TimeWindow realtime = realtime_extent(trace);
    extent_.begin_ns = std::min(extent_.begin_ns, trace.extent.begin_ns);
    extent_.end_ns = std::max(extent_.end_ns, trace.extent.end_ns);
    realtime_.begin_ns = std::min(realtime_.begin_ns, realtime.begin_ns);
    realtime_.end_ns = std::max(realtime_.end_ns, realtime.end_ns);
  }
  while (first_day_ > -kMaxDays &&
         local_times_of_day(realtime_.end_ns, first_day_, 0).front() > realtime_.begin_ns)
    --first_day_;
}

// From the first to the last trace that recorded then. Distances are those of the wall clock: times
// since boot end at the boot.
WallClocks::Found WallClocks::find(const TimeWindow& realtime) const {
  Found found{.window = {}, .far_ns = UINT64_MAX};
  TimeWindow recorded{.begin_ns = UINT64_MAX, .end_ns = 0};
  for (const HistoryTimes& trace : traces_) {
    const int64_t offset = trace.clock_offset_ns;
    const uint64_t far = distance(realtime, realtime_extent(trace));
    const TimeWindow window{.begin_ns = boottime_at(realtime.begin_ns, offset),
                            .end_ns = boottime_at(realtime.end_ns, offset)};
    if (far < found.far_ns) found = {.window = window, .clock_offset_ns = offset, .far_ns = far};
    if (far != 0) continue;
    if (trace.extent.begin_ns < recorded.begin_ns) found.window.begin_ns = window.begin_ns;
    if (trace.extent.end_ns > recorded.end_ns) found.window.end_ns = window.end_ns;
    recorded = {.begin_ns = std::min(recorded.begin_ns, trace.extent.begin_ns),
                .end_ns = std::max(recorded.end_ns, trace.extent.end_ns)};
  }
  return found;
}

uint64_t WallClocks::boottime_of(uint64_t realtime_ns) const {
  return find({.begin_ns = realtime_ns, .end_ns = realtime_ns}).window.end_ns;
}

uint64_t WallClocks::of_day(uint64_t of_day, const TimeWindow& limits, Pick pick) const {
  TimeWindow near{.begin_ns = std::max(limits.begin_ns, extent_.begin_ns),
                  .end_ns = std::min(limits.end_ns, extent_.end_ns)};
  near.end_ns = std::max(near.begin_ns, near.end_ns);
  uint64_t nearest = 0, best = UINT64_MAX;
  std::optional<uint64_t> inside;
  for (int day = first_day_; day <= 0; ++day)
    for (const uint64_t realtime : local_times_of_day(realtime_.end_ns, day, of_day)) {
      const TimeWindow moment{.begin_ns = realtime, .end_ns = realtime};
      const Found found = find(moment);
      const uint64_t ts = found.window.end_ns;
      if (found.far_ns == 0 && limits.contains(ts) && (pick == Pick::last || !inside)) inside = ts;
      const uint64_t far = distance(moment, realtime_extent({near, found.clock_offset_ns}));
      if (far > best) continue;
      best = far;
      nearest = ts;
    }
  return inside.value_or(nearest);
}

bool WallClocks::is_inside(const TimeWindow& realtime) const {
  return realtime_.contains(realtime.begin_ns) && realtime_.contains(realtime.end_ns);
}

// A time of day before `since` is that of the next day. But if that makes a long window of which
// the traces have a part only, the two have probably been mixed up.
TimeWindow WallClocks::realtime_window(int day, uint64_t since, uint64_t until) const {
  constexpr uint64_t kLong = uint64_t{12} * 3600 * 1'000'000'000;
  const auto times = [&](int on, uint64_t of_day) {
    return local_times_of_day(realtime_.end_ns, on, of_day);
  };
  const uint64_t same_day = times(day, until).back();
  TimeWindow window{.begin_ns = times(day, since).front(), .end_ns = same_day};
  if (until >= since) return window;
  window.end_ns = times(day + 1, until).back();
  if (window.end_ns - window.begin_ns > kLong && !is_inside(window)) window.end_ns = same_day;
  return window;
}

TimeWindow WallClocks::of_day(uint64_t since, uint64_t until) const {
  Found best{.window = {}, .far_ns = UINT64_MAX};
  for (int day = first_day_ - 1; day <= 0; ++day) {
    Found found = find(realtime_window(day, since, until));
    if (found.window.begin_ns > found.window.end_ns)
      found.far_ns = std::max<uint64_t>(found.far_ns, 1);
    if (found.far_ns <= best.far_ns) best = found;
  }
  return best.window;
}

}  // namespace ktraced
