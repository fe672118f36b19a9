// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/missed_hits.h"

#include <algorithm>
#include <utility>

namespace ktraced {
namespace {

// What `now` has more than `before`. Events without an increase are left out.
HitCounts increase(const HitCounts& before, const HitCounts& now) {
  HitCounts more;
  for (const auto& [event, count] : now) {
    const auto old = before.find(event);
    const uint64_t base = old != before.end() ? old->second : 0;
    if (count > base) more.emplace(event, count - base);
  }
  return more;
}

}  // namespace

void MissedHits::note(MissedReading reading, uint64_t oldest_begin) {
  const auto after =
      std::ranges::upper_bound(readings_, reading.from_ns, {}, &MissedReading::from_ns);
  readings_.insert(after, std::move(reading));
  while (readings_.size() > 1 && readings_[1].until_ns <= oldest_begin) readings_.pop_front();
}

bool MissedHits::read_since(uint64_t end) const {
  return !readings_.empty() && readings_.back().from_ns >= end;
}

HitCounts MissedHits::within(uint64_t begin, uint64_t end) const {
  if (readings_.empty()) return {};
  const MissedReading* before = &readings_.front();
  for (const MissedReading& reading : readings_)
    if (reading.until_ns <= begin) before = &reading;
  const auto after = std::ranges::find_if(
      readings_, [&](const MissedReading& reading) { return reading.from_ns >= end; });
  return increase(before->counts,
                  after != readings_.end() ? after->counts : readings_.back().counts);
}

}  // namespace ktraced
