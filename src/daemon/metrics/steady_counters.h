// SPDX-License-Identifier: BSD-2-Clause
// Holds counters whose reading falls a little, which Prometheus would take for a restart from zero.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "daemon/capture/trace_status.h"

namespace ktraced {

// A program counts a hit first and its outcome later. A reading in between has the hit as filtered,
// and the next one may be lower by it. Such a value stays as it was; one that is lower by more than
// `in_flight` has been reset.
class SteadyCounters {
 public:
  // Hits that can be in between at one time.
  explicit SteadyCounters(uint64_t in_flight) : in_flight_(in_flight) {}

  // Corrects the counters, except `overwritten`, which is a gauge.
  void apply(std::map<std::string, EventTotals>& events);

 private:
  void apply(EventCounters& now, const EventCounters& before) const;
  void apply(uint64_t& now, uint64_t before) const;

  uint64_t in_flight_;
  std::map<std::string, EventTotals> before_;
};

}  // namespace ktraced
