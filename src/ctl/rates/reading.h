// SPDX-License-Identifier: BSD-2-Clause
// The counters of a daemon at one time.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ktraced {

// Sums over all CPUs, since the daemon's start or the last reset.
struct HitCounts {
  uint64_t recorded = 0, filtered = 0, dropped = 0, missed = 0;
};

struct SessionReading {
  std::string name;
  std::string owner;  // "ktraced", or "pid 812 (uid 0)"
  std::string sink;   // "flight recorder", "files", "client", or "none"
  std::string state;  // "recording", "paused", "off"
  HitCounts counts;
};

// The answer to `status`.
struct Reading {
  uint64_t at_ns = 0;  // CLOCK_BOOTTIME of this machine, when the answer arrived
  std::string version, kernel, state;
  std::map<std::string, HitCounts> events;  // those that are on or have counted something
  HitCounts totals;
  std::vector<SessionReading> sessions;
  bool flight = false;           // the flight recorder is on
  uint64_t flight_reach_ns = 0;  // how far back it reaches
  std::string flight_saved_in;   // the snapshot of what is older than flight_reach_ns; empty: none
};

// Members that `status` lacks are zero or empty.
[[nodiscard]] Reading reading_of(const nlohmann::json& status, uint64_t at_ns);

// The last snapshot of the flight recorder, if it ends where the memory begins; else null.
// `flight`: the member of `status`.
[[nodiscard]] const nlohmann::json& snapshot_before_history(const nlohmann::json& flight);

}  // namespace ktraced
