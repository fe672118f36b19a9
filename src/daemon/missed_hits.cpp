#include "daemon/missed_hits.h"

#include <utility>

namespace ktraced {

HitCounts increase(const HitCounts& before, const HitCounts& now) {
  HitCounts more;
  for (const auto& [event, count] : now) {
    const auto old = before.find(event);
    const uint64_t base = old != before.end() ? old->second : 0;
    if (count > base) more.emplace(event, count - base);
  }
  return more;
}

void MissedHits::note(uint64_t ts, HitCounts counts, uint64_t oldest_begin) {
  readings_.push_back({.ts = ts, .counts = std::move(counts)});
  while (readings_.size() > 1 && readings_[1].ts <= oldest_begin) readings_.pop_front();
}

HitCounts MissedHits::since(uint64_t begin) const {
  if (readings_.empty()) return {};
  const Reading* base = &readings_.front();
  for (const Reading& reading : readings_)
    if (reading.ts <= begin) base = &reading;
  return increase(base->counts, readings_.back().counts);
}

}  // namespace ktraced
