// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/metrics/steady_counters.h"

namespace ktraced {

void SteadyCounters::apply(std::map<std::string, EventTotals>& events) {
  for (auto& [name, now] : events) {
    const auto before = before_.find(name);
    if (before == before_.end()) continue;
    apply(now.recorder, before->second.recorder);
    apply(now.output, before->second.output);
    apply(now.clients, before->second.clients);
  }
  before_ = events;
}

void SteadyCounters::apply(EventCounters& now, const EventCounters& before) const {
  apply(now.counts.recorded, before.counts.recorded);
  apply(now.counts.filtered, before.counts.filtered);
  apply(now.counts.dropped, before.counts.dropped);
  apply(now.missed, before.missed);
}

void SteadyCounters::apply(uint64_t& now, uint64_t before) const {
  if (now < before && before - now <= in_flight_) now = before;
}

}  // namespace ktraced
