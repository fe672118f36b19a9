// SPDX-License-Identifier: BSD-2-Clause
// The system calls and the states of each thread over time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/coverage/event_table.h"
#include "analysis/intervals/call_tracker.h"
#include "analysis/intervals/continuity.h"
#include "analysis/intervals/run_tracker.h"
#include "analysis/intervals/timeline_slices.h"
#include "analysis/intervals/timeline_tasks.h"

namespace ktraced {

// What a thread does; waiting for a CPU is `runnable`, waiting for anything else is `sleeping`.
enum class ThreadState : uint32_t { running, runnable, sleeping };

// Draws the selected calls of a CallTracker whose beginning and end are known, and the known states
// of threads: the runs of a RunTracker, and between them the times up to and after a sched_wakeup
// or sched_wakeup_new. What has not ended lasts until the end of the trace, except for calls that
// never return. Memory: as TimelineSlices with the given limits, plus the threads with a lane.
class ThreadTimeline : public Analysis, public CallSink, public RunSink {
 public:
  static constexpr size_t kMaxCalls = 262144;
  static constexpr size_t kMaxStates = 131072;
  static constexpr size_t kMaxThreads = 4096;

  // A kind of system call.
  struct Kind {
    uint32_t abi = 0;
    int32_t nr = 0;
  };
  struct Thread {
    TimelineTask task;
    uint64_t calls = 0;   // that are drawn
    uint64_t ran_ns = 0;  // on CPUs
  };

  // Takes the calls and the runs of trackers, which must not get events after the end of this, and
  // must get each event after this.
  ThreadTimeline(CallTracker& calls, RunTracker& runs, size_t max_calls = kMaxCalls,
                 size_t max_threads = kMaxThreads)
      : max_threads_(max_threads), calls_(max_calls) {
    calls.add_sink(*this);
    runs.add_sink(*this);
  }
  ThreadTimeline(const ThreadTimeline&) = delete;
  ThreadTimeline& operator=(const ThreadTimeline&) = delete;

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  void on_config_change(uint64_t ts, const TraceConfig& config) override;
  void on_begin(const Call& call, const CallRecord& at, Unknown unknown) override;
  void on_end(const CallInterval& interval) override;
  void on_run(const RunInterval& interval) override;
  void on_switch(const Switch& what) override;
  // Call after the last record, and after finish() of both trackers. Threads that sleep or wait for
  // a CPU do so until `end_ns`.
  void finish(uint64_t end_ns);

  // One lane for each of threads(); `what` is an index into kinds().
  [[nodiscard]] const TimelineSlices& calls() const { return calls_; }
  // One lane for each of threads(); `what` is a ThreadState.
  [[nodiscard]] const TimelineSlices& states() const { return states_; }
  [[nodiscard]] const std::vector<Thread>& threads() const { return threads_; }
  [[nodiscard]] const std::vector<Kind>& kinds() const { return kinds_; }
  // Calls of threads beyond the limit. They are not in calls().
  [[nodiscard]] uint64_t other_calls() const { return other_calls_; }
  // Calls with an unknown beginning or end. They are not in calls().
  [[nodiscard]] uint64_t uncertain() const { return uncertain_; }

 private:
  struct Plan {
    enum class Kind : uint8_t { other, switched, woken } kind = Kind::other;
    std::optional<Field> pid;
  };
  struct Source {
    EventTable<Plan> plans;
    const NameTable* names;
  };
  // A time in which a thread did not run. `runnable`: from when on it could have.
  struct OffCpu {
    uint64_t since = 0;
    std::optional<uint64_t> runnable;
    uint64_t gaps = 0;  // continuity_.now() at its beginning
  };
  struct Now {
    bool runs = false;
    bool covered = false;       // when it ran last, all of its activity was in the trace
    std::optional<OffCpu> off;  // nothing: it runs, or what it does is not known
  };
  void on_woken(uint32_t tid, uint64_t ts);
  void leave(uint32_t tid);
  void add(const CallInterval& interval);
  void add_state(uint32_t lane, uint64_t begin_ns, uint64_t end_ns, ThreadState state);
  void add_off_cpu(uint32_t lane, const OffCpu& off, uint64_t end_ns);
  void name(uint32_t tid, const TaskName* task);
  uint32_t index_of(const Call& call);
  std::optional<uint32_t> lane_of(uint32_t tid);

  size_t max_threads_;
  std::vector<Source> sources_;
  std::optional<TraceConfig> config_;
  Continuity continuity_;
  TimelineSlices calls_;
  TimelineSlices states_{kMaxStates};
  std::vector<Thread> threads_;
  std::vector<Now> now_;                          // of threads_
  bool wakeups_ = false;                          // any since the last change of the config?
  std::unordered_map<uint32_t, uint32_t> lanes_;  // by thread
  std::vector<Kind> kinds_;
  std::map<std::pair<uint32_t, int32_t>, uint32_t> kind_index_;
  uint64_t other_calls_ = 0, uncertain_ = 0;
};

}  // namespace ktraced
