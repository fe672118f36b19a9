// SPDX-License-Identifier: BSD-2-Clause
// Run times and waiting times of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/coverage/event_table.h"
#include "analysis/coverage/identities.h"
#include "analysis/intervals/continuity.h"
#include "analysis/intervals/run_tracker.h"
#include "analysis/reports/histogram.h"
#include "analysis/reports/longest.h"

namespace ktraced {

// One thread.
struct SchedRow {
  uint32_t tid = 0;
  uint32_t pid = 0;       // its process
  uint64_t start_ns = 0;  // of the thread, CLOCK_BOOTTIME; 0: unknown
  uint64_t first_ns = 0;  // of the first event about it
  std::string comm;
  bool others = false;    // all threads after the table was full
  bool selected = false;  // something that is counted here
  // True if all activity of the thread is in the trace, at least for some time. Otherwise its times
  // are not known: a filter rejected it, and it occurs only in events of others.
  bool measured = false;
  uint64_t on_cpu_ns = 0;
  uint64_t switched_in = 0;
  uint64_t slept = 0;      // left the CPU to wait for something
  uint64_t preempted = 0;  // left the CPU although it was runnable
  uint64_t migrations = 0;
  uint64_t preempted_ns = 0;  // time from preemption to the next run
  Histogram delay;            // from wake-up to running
};

// One CPU, from its first switch to the end.
struct SchedCpu {
  uint64_t busy_ns = 0, idle_ns = 0;
  uint64_t unknown_ns = 0;  // time with losses, while paused, or rejected by a filter
  uint64_t switches = 0;
  uint64_t first_ns = 0;
};

// A long delay from wake-up to running.
struct SchedDelay {
  uint64_t woken_ns = 0;
  uint64_t ns = 0;
  uint32_t cpu = 0;  // the CPU on which it ran then
  uint32_t tid = 0;
  std::string comm;
  // The thread that ran on that CPU for most of the time; nothing if unknown.
  std::optional<uint32_t> instead_tid;
  std::string instead_comm;
  uint64_t instead_ns = 0;
};

// A time in which a thread was runnable, but did not run.
struct WaitInterval {
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  bool woken = false;  // false: it was preempted
  uint32_t cpu = 0;    // on which it ran then
  uint32_t tid = 0;
  const TaskName* task = nullptr;   // null: unknown
  Unknown unknown = Unknown::none;  // none: it certainly waited all the time
  const NameTable& names;
};

// Receives the waits that a SchedAnalysis finds.
class WaitSink {
 public:
  virtual ~WaitSink() = default;
  virtual void on_wait(const WaitInterval& interval) = 0;
};

// Sums up the runs of its RunTracker, and measures how long threads wait for a CPU, for which it
// uses sched_wakeup, sched_wakeup_new and sched_migrate_task. Intervals across a loss are not
// counted. Threads and what they do are selected: a run and a wait by the switch that ends it. The
// sums of a CPU are of all threads. With a filter, switches between two rejected threads are
// missing, so only times of matching threads are counted. Memory: at most kMaxRows threads, with up
// to 8 KiB each, kMaxWaiting waiting threads, and kMaxStored finished runs, 24 bytes each.
class SchedAnalysis : public Analysis, public RunSink {
 public:
  static constexpr size_t kMaxRows = 8192;
  static constexpr size_t kMaxWaiting = 262144;
  // Runs of all CPUs together, for ran_on(). A busy CPU has some 10,000 a second.
  static constexpr size_t kMaxStored = 1U << 20;

  // Keeps the `longest` longest delays. `max_stored` 0: ran_on() is not used.
  explicit SchedAnalysis(size_t longest, size_t max_waiting = kMaxWaiting,
                         size_t max_stored = kMaxStored)
      : max_waiting_(max_waiting), max_stored_(max_stored), longest_(longest) {
    runs_.add_sink(*this);
  }
  SchedAnalysis(const SchedAnalysis&) = delete;
  SchedAnalysis& operator=(const SchedAnalysis&) = delete;

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  void on_config_change(uint64_t ts, const TraceConfig& config) override;
  void set_selector(const RecordSelector& selector) override;
  void on_run(const RunInterval& interval) override;
  void on_switch(const Switch& what) override;
  // Call after the last record. Running threads run until `end_ns`. Removes rows that are not
  // selected.
  void finish(uint64_t end_ns);

  // Is there a wait that began at `ns` or earlier and has not ended?
  [[nodiscard]] bool is_waiting(uint64_t ns) const;
  // `sink` must outlive the last event. It gets the selected waits of threads whose whole activity
  // is in the trace.
  void add_sink(WaitSink& sink) { sinks_.push_back(&sink); }
  // How many nanoseconds each thread is known to have run on a CPU between two times, by thread id.
  // Call it when a wait from `begin_ns` to `end_ns` ends: runs before all waits that go on may be
  // evicted, and when `max_stored` runs are stored, the earlier half of those of the CPU that has
  // most. A call looks at 64 runs, and all calls together at 64 more for each run that was stored,
  // so that many long waits take linear time. Beyond that it knows only the newest runs.
  [[nodiscard]] std::map<uint32_t, uint64_t> ran_on(uint32_t cpu, uint64_t begin_ns,
                                                    uint64_t end_ns);
  // Takes further sinks of the runs. Its events come from this object, which handles an event only
  // after the runs that end with it.
  [[nodiscard]] RunTracker& runs() { return runs_; }
  [[nodiscard]] const std::vector<SchedRow>& threads() const { return rows_; }
  [[nodiscard]] const std::map<uint32_t, SchedCpu>& cpus() const { return cpus_; }
  // The longest first.
  [[nodiscard]] std::vector<SchedDelay> longest() const { return longest_.sorted(); }
  [[nodiscard]] const Histogram& delays() const { return delays_; }  // of all threads
  [[nodiscard]] uint64_t lost() const { return lost_; }
  // Intervals that are not counted, because events in between are missing.
  [[nodiscard]] uint64_t uncertain() const { return uncertain_; }
  // Waiting threads that were evicted, because too many were waiting.
  [[nodiscard]] uint64_t not_followed() const { return not_followed_; }

 private:
  struct Plan {
    enum class Kind : uint8_t { other, switched, woken, migrated } kind = Kind::other;
    std::optional<Field> pid;
  };
  struct Source {
    EventTable<Plan> plans;
    const NameTable* names;
  };
  // A runnable thread that is not running.
  struct Waiting {
    uint64_t since = 0;
    uint64_t gaps = 0;   // continuity_.now() when the wait began
    bool woken = false;  // false: it was preempted
  };
  // A finished run.
  struct Slice {
    uint32_t tid = 0;
    uint64_t begin = 0, end = 0;
  };
  static constexpr size_t kFewSlices = 64;  // of a CPU
  static constexpr size_t kLooks = 64;      // that a call of ran_on() has, and each run adds
  struct Cpu {
    SchedCpu* sums = nullptr;         // in cpus_
    std::optional<uint32_t> tid;      // the running thread, if known
    uint32_t row = 0;                 // its index in rows_, unless it is idle
    std::deque<Slice> slices;         // in time order
    size_t many_slices = kFewSlices;  // when there are so many, those not needed are evicted
  };
  static Plan plan_of(const Event& event);

  void switch_out(const Switch& what);
  void switch_in(const Switch& what, Cpu& cpu);
  void on_woken(uint32_t tid, uint64_t ts);
  Cpu& cpu_of(uint32_t number);
  void store(const Slice& slice, Cpu& cpu);
  void evict_unneeded(Cpu& cpu);
  void wait(uint32_t tid, const Waiting& waiting);
  std::optional<Waiting> end_of_wait(uint32_t tid);
  void end_wait(const Waiting& waiting, const Switch& what, SchedRow& row);
  void note_long(SchedDelay delay, const NameTable& names);
  void name_instead(SchedDelay& delay, const NameTable& names);
  uint32_t row_of(uint32_t tid, uint64_t ts, const TaskName* task);
  SchedRow& selected_row(uint32_t index);
  [[nodiscard]] bool runs(uint32_t tid) const;

  RunTracker runs_;
  std::vector<WaitSink*> sinks_;
  size_t max_waiting_;
  size_t max_stored_;
  size_t stored_ = 0;        // slices of all CPUs
  uint64_t looks_left_ = 0;  // at slices, for ran_on()
  std::vector<Source> sources_;
  std::optional<TraceConfig> config_;
  Identities threads_{kMaxRows};
  std::vector<SchedRow> rows_;  // by number
  std::unordered_map<uint32_t, Waiting> waiting_;
  decltype(waiting_)::node_type spare_;  // the last one removed, to be used again
  std::map<uint32_t, Cpu> state_;
  std::map<uint32_t, SchedCpu> cpus_;
  Longest<SchedDelay> longest_;
  Histogram delays_;
  Continuity continuity_;
  uint64_t lost_ = 0, uncertain_ = 0, not_followed_ = 0;
};

}  // namespace ktraced
