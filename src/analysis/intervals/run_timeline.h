// SPDX-License-Identifier: BSD-2-Clause
// The running thread of each CPU over time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "analysis/analysis.h"
#include "analysis/coverage/event_table.h"
#include "analysis/coverage/thread_coverage.h"
#include "analysis/intervals/timeline_slices.h"
#include "analysis/intervals/timeline_tasks.h"

namespace ktraced {

// Uses sched_switch. An interval is known if it begins and ends with a switch of the same thread,
// no switches were lost in between, and the filter accepts the thread. Memory: as TimelineSlices
// and TimelineTasks, with the given limits.
class RunTimeline : public Analysis {
 public:
  static constexpr size_t kMaxSlices = 262144;
  static constexpr size_t kMaxUnknown = 16384;
  static constexpr size_t kMaxTasks = 65536;

  explicit RunTimeline(size_t max_slices = kMaxSlices) : ran_(max_slices) {}

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  void on_config_change(uint64_t ts, const TraceConfig& scope) override;
  // Call after the last record. Running threads run until `end_ns`.
  void finish(uint64_t end_ns);

  // One lane for each CPU; `what` is a number of tasks(). Idle times are left out.
  [[nodiscard]] const TimelineSlices& ran() const { return ran_; }
  // One lane for each CPU: intervals whose running thread is unknown. The first one may begin at 0,
  // that is, at the beginning of the window.
  [[nodiscard]] const TimelineSlices& unknown() const { return unknown_; }
  [[nodiscard]] const TimelineTasks& tasks() const { return tasks_; }

 private:
  struct Plan {
    bool is_switch = false;
    bool is_fork = false;
    bool of_current = false;  // see ThreadCoverage::is_of_current()
    std::optional<Field> prev_pid, next_pid, parent_pid, child_pid;
  };
  struct Source {
    EventTable<Plan> plans;
    const NameTable* names;
  };
  struct Cpu {
    std::optional<uint32_t> tid;  // the running thread, if known
    bool whole = false;           // known to match the filter at its start
    uint32_t task = 0;            // its number, unless it is idle
    uint64_t since = 0;           // start of the run or unknown interval
  };
  static Plan plan_of(const Event& event);
  void on_switch(const Plan& plan, uint32_t cpu, RecordView record, const NameTable& names);
  void end_slice(uint32_t number, const Cpu& cpu, uint64_t ts);

  std::vector<Source> sources_;
  ThreadCoverage coverage_;
  TimelineSlices ran_;
  TimelineSlices unknown_{kMaxUnknown};
  TimelineTasks tasks_{kMaxTasks};
  std::map<uint32_t, Cpu> cpus_;
};

}  // namespace ktraced
