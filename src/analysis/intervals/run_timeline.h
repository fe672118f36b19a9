// SPDX-License-Identifier: BSD-2-Clause
// The running thread of each CPU over time.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "analysis/intervals/run_tracker.h"
#include "analysis/intervals/timeline_slices.h"
#include "analysis/intervals/timeline_tasks.h"

namespace ktraced {

// Draws the selected runs of a RunTracker, and what is unknown. Memory: as TimelineSlices and
// TimelineTasks, with the given limits.
class RunTimeline : public RunSink {
 public:
  static constexpr size_t kMaxSlices = 262144;
  static constexpr size_t kMaxUnknown = 16384;
  static constexpr size_t kMaxTasks = 65536;

  // Takes the intervals of `tracker`, which must not get events after the end of this.
  explicit RunTimeline(RunTracker& tracker, size_t max_slices = kMaxSlices) : ran_(max_slices) {
    tracker.add_sink(*this);
  }
  RunTimeline(const RunTimeline&) = delete;
  RunTimeline& operator=(const RunTimeline&) = delete;

  void on_run(const RunInterval& interval) override;
  void on_unknown(const UnknownInterval& interval) override;
  void on_switch(const Switch& what) override;

  // One lane for each CPU; `what` is a number of tasks(). Idle times are left out.
  [[nodiscard]] const TimelineSlices& ran() const { return ran_; }
  // One lane for each CPU: intervals whose running thread is unknown. The first one may begin at 0,
  // that is, at the beginning of the window.
  [[nodiscard]] const TimelineSlices& unknown() const { return unknown_; }
  [[nodiscard]] const TimelineTasks& tasks() const { return tasks_; }

 private:
  TimelineSlices ran_;
  TimelineSlices unknown_{kMaxUnknown};
  TimelineTasks tasks_{kMaxTasks};
  std::unordered_map<uint32_t, uint32_t> running_;  // the task by CPU, unless it is idle
};

}  // namespace ktraced
