// SPDX-License-Identifier: BSD-2-Clause
// The system calls of each thread over time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/intervals/call_tracker.h"
#include "analysis/intervals/timeline_slices.h"
#include "analysis/intervals/timeline_tasks.h"

namespace ktraced {

// Draws the selected calls of a CallTracker whose beginning and end are known. Calls that have not
// returned last until the end of the trace, except for those that never return. Memory: as
// TimelineSlices with the given limits, plus the threads with a lane.
class CallTimeline : public CallSink {
 public:
  static constexpr size_t kMaxSlices = 262144;
  static constexpr size_t kMaxThreads = 4096;

  // A kind of system call.
  struct Kind {
    uint32_t abi = 0;
    int32_t nr = 0;
  };

  // Takes the calls of `tracker`, which must not get events after the end of this.
  explicit CallTimeline(CallTracker& tracker, size_t max_slices = kMaxSlices,
                        size_t max_threads = kMaxThreads)
      : max_threads_(max_threads), slices_(max_slices) {
    tracker.add_sink(*this);
  }
  CallTimeline(const CallTimeline&) = delete;
  CallTimeline& operator=(const CallTimeline&) = delete;

  void on_begin(const Call& call, const CallRecord& at, Unknown unknown) override;
  void on_end(const CallInterval& interval) override;

  // One lane for each of threads(); `what` is an index into calls().
  [[nodiscard]] const TimelineSlices& slices() const { return slices_; }
  [[nodiscard]] const std::vector<TimelineTask>& threads() const { return threads_; }
  [[nodiscard]] const std::vector<Kind>& calls() const { return calls_; }
  // The number of calls of threads beyond the limit, which are not in slices().
  [[nodiscard]] uint64_t other_calls() const { return other_calls_; }
  // The number of calls with an unknown beginning or end, which are not in slices().
  [[nodiscard]] uint64_t uncertain() const { return uncertain_; }

 private:
  void add(const CallInterval& interval);
  void name(uint32_t tid, const TaskName* task);
  uint32_t index_of(const Call& call);
  std::optional<uint32_t> lane_of(uint32_t tid);

  size_t max_threads_;
  TimelineSlices slices_;
  std::vector<TimelineTask> threads_;
  std::unordered_map<uint32_t, uint32_t> lanes_;  // by thread
  std::vector<Kind> calls_;
  std::map<std::pair<uint32_t, int32_t>, uint32_t> call_index_;
  uint64_t other_calls_ = 0, uncertain_ = 0;
};

}  // namespace ktraced
