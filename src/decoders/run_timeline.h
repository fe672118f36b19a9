// SPDX-License-Identifier: BSD-2-Clause
// Which thread each CPU ran, and when.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "decoders/analysis.h"
#include "decoders/event_table.h"
#include "decoders/timeline_slices.h"
#include "decoders/timeline_tasks.h"
#include "decoders/whole_threads.h"

namespace ktraced {

// Follows sched_switch. What ran is known from one switch to the next that begins with the same
// thread, unless switches were lost between, or a filter left that thread out. Memory: as
// TimelineSlices and TimelineTasks, with the limits given here.
class RunTimeline : public Analysis {
 public:
  static constexpr size_t kMaxSlices = 262144;
  static constexpr size_t kMaxUnknown = 16384;
  static constexpr size_t kMaxTasks = 65536;

  explicit RunTimeline(size_t max_slices = kMaxSlices) : ran_(max_slices) {}

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  void on_scope(uint64_t ts, const TraceScope& scope) override;
  // No more records come; what runs has run until then.
  void finish(uint64_t end_ns);

  // A lane for each CPU; `what` is a number of tasks(). Idle times are left out.
  [[nodiscard]] const TimelineSlices& ran() const { return ran_; }
  // A lane for each CPU: where it is not known what ran. The first one may begin at 0, that is
  // with the window.
  [[nodiscard]] const TimelineSlices& unknown() const { return unknown_; }
  [[nodiscard]] const TimelineTasks& tasks() const { return tasks_; }

 private:
  struct Plan {
    bool is_switch = false;
    bool is_fork = false;
    bool of_current = false;  // as WholeThreads has it
    std::optional<Field> prev_pid, next_pid, parent_pid, child_pid;
  };
  struct Source {
    EventTable<Plan> plans;
    const NameTable* names;
  };
  struct Cpu {
    std::optional<uint32_t> tid;  // what runs, if that is known
    bool whole = false;           // and known to pass the filter when it began
    uint32_t task = 0;            // its number, unless it is idle
    uint64_t since = 0;           // it runs, or is not known
  };
  static Plan plan_of(const Event& event);
  void on_switch(const Plan& plan, uint32_t cpu, RecordView record, const NameTable& names);
  void end_slice(uint32_t number, const Cpu& cpu, uint64_t ts);

  std::vector<Source> sources_;
  WholeThreads whole_;
  TimelineSlices ran_;
  TimelineSlices unknown_{kMaxUnknown};
  TimelineTasks tasks_{kMaxTasks};
  std::map<uint32_t, Cpu> cpus_;
};

}  // namespace ktraced
