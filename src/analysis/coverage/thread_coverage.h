// SPDX-License-Identifier: BSD-2-Clause
// Finds the threads whose whole activity is in the trace when a filter is set.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_set>

#include "analysis/coverage/trace_config.h"
#include "schema/schema.h"

namespace ktraced {

// Switches between two rejected threads are not in the trace, so it is not known when these threads
// ran. If the filter alone cannot decide which threads match, because it selects control groups or
// children, this is learned from events. Memory: at most kMaxMatching thread ids.
class ThreadCoverage {
 public:
  static constexpr size_t kMaxMatching = 8192;

  // Sets the trace config from now on. If it differs for `events`, discards what is known and
  // returns true.
  bool change(const TraceConfig& config, std::span<const std::string_view> events);
  // True if an event is recorded only when the current thread matches the filter. False if the
  // trace does not say so.
  [[nodiscard]] static bool is_of_current(const Event& event);
  // Notes that the trace has such an event of thread `tid`.
  void note(uint32_t tid);
  // Notes that a switch is in the trace. If the filter rejects one of the two threads, the other
  // one must match.
  void note_switch(uint32_t prev, uint32_t next, uint64_t ts, const NameTable& names);
  // Notes that thread `parent` has created thread `child`.
  void note_fork(uint32_t parent, uint32_t child, uint64_t ts, const NameTable& names);
  // True if every switch from and to that thread is in the trace.
  [[nodiscard]] bool has(uint32_t tid, uint64_t ts, const NameTable& names) const;

 private:
  [[nodiscard]] bool filtered() const { return filtered_; }

  std::optional<TraceConfig> config_;
  bool filtered_ = false;  // config_ has a filter
  std::unordered_set<uint32_t> matching_;
};

}  // namespace ktraced
