// SPDX-License-Identifier: BSD-2-Clause
// Rates from two readings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "ctl/rates/reading.h"
#include "ctl/rates/top_table.h"

namespace ktraced {

// Per second.
struct HitRates {
  double recorded = 0, filtered = 0, dropped = 0, missed = 0;
  [[nodiscard]] double all() const { return recorded + filtered + dropped + missed; }
  [[nodiscard]] double lost() const { return dropped + missed; }
};

// What stands above each view.
struct TopHeader {
  std::string version, kernel, state;
  HitRates rates;
  std::string overhead;                     // "0.42 % of a CPU", or why it is not known
  std::optional<uint64_t> flight_reach_ns;  // nothing: the flight recorder is off
  size_t sessions = 0;
  // The snapshot of what is older than flight_reach_ns; empty: none.
  std::string flight_saved_in = {};
};

// Seconds from one time in ns to another; never 0.
[[nodiscard]] double seconds_between(uint64_t since_ns, uint64_t until_ns);
// Seconds between two readings; never 0.
[[nodiscard]] double seconds_between(const Reading& before, const Reading& now);
// A counter that has fallen was reset: it has counted from zero since then.
[[nodiscard]] HitRates rates_of(const HitCounts& before, const HitCounts& now, double seconds);

[[nodiscard]] TopHeader header_of(const Reading& before, const Reading& now, std::string overhead);
[[nodiscard]] TopTable events_table(const Reading& before, const Reading& now);
[[nodiscard]] TopTable sessions_table(const Reading& before, const Reading& now);

}  // namespace ktraced
