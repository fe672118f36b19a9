// SPDX-License-Identifier: BSD-2-Clause
// Which thread each CPU runs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/coverage/event_table.h"
#include "analysis/coverage/thread_coverage.h"
#include "analysis/intervals/unknown.h"

namespace ktraced {

// A sched_switch.
struct Switch {
  uint32_t cpu = 0;
  uint64_t ts = 0;
  uint32_t prev = 0;  // threads; 0: the idle task
  uint32_t prev_state = 0;
  uint32_t next = 0;
  int32_t next_prio = 0;      // kernel priority
  stack_numbers stacks{};     // of `prev`
  bool next_covered = false;  // every switch from and to it is in the trace
  bool prev_selected = true;  // is what it says about `prev` selected?
  bool next_selected = true;
  const TaskName* prev_task = nullptr;  // null: unknown, or idle
  const TaskName* next_task = nullptr;
  const NameTable& names;

  // Could `prev` have gone on?
  [[nodiscard]] bool prev_runnable() const {
    return prev_state == kRunning || prev_state == kPreempted;
  }
  // Is `next` the thread that takes this CPU offline, when that is asked for? Nothing is traced on
  // a CPU that is offline: the switch from this thread is missing then. Every thread can take the
  // name of that one, but only a privileged thread its priority.
  [[nodiscard]] bool next_may_stop_cpu() const;
  // Is this the last switch from `prev`?
  [[nodiscard]] bool prev_ended() const { return (prev_state & (kDead | kZombie)) != 0; }

  // States as ftrace has them.
  static constexpr uint32_t kRunning = 0, kDead = 0x10, kZombie = 0x20, kPreempted = 0x100;
};

// A time in which a CPU ran a thread.
struct RunInterval {
  uint32_t cpu = 0;
  uint32_t tid = 0;  // 0: the idle task
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  // True if the thread certainly ran from `begin_ns` to `end_ns`. False if nothing is known after
  // `begin_ns`, which is also `end_ns` then.
  bool known = true;
  // Why nothing is known from `end_ns` on; none: the CPU was switched to another thread.
  Unknown then = Unknown::none;
  // Does the selection have the switch that ended the run, or else the switch that began it?
  bool selected = true;
};

// A time in which it is not known what a CPU ran. The first one of a CPU begins at 0.
struct UnknownInterval {
  uint32_t cpu = 0;
  uint64_t begin_ns = 0;
  uint64_t end_ns = 0;
  Unknown why = Unknown::none;
};

// Receives intervals from a RunTracker. Those of one CPU come in time order, without gaps.
class RunSink {
 public:
  virtual ~RunSink() = default;
  virtual void on_run(const RunInterval& interval) = 0;
  virtual void on_unknown(const UnknownInterval& /*interval*/) {}
  // `next` runs now. Called after the previous interval has been given.
  virtual void on_switch(const Switch& /*what*/) {}
};

// Turns sched_switch into intervals. A run is known if it begins and ends with a switch of the same
// thread, no switches were lost in between, and the filter accepts the thread. A thread is its id
// and its start time.
class RunTracker : public Analysis {
 public:
  // `sink` must outlive the last event. Sinks get each interval in the order in which they were
  // added.
  void add_sink(RunSink& sink) { sinks_.push_back(&sink); }

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  void on_config_change(uint64_t ts, const TraceConfig& config) override;
  // Call after the last record. Running threads run until `end_ns`.
  void finish(uint64_t end_ns);
  // Is there a run that began at `ns` or earlier and has not ended?
  [[nodiscard]] bool is_open(uint64_t ns) const;

 private:
  struct Plan {
    enum class Kind : uint8_t { other, switched, forked } kind = Kind::other;
    bool of_current = false;  // see ThreadCoverage::is_of_current()
    std::optional<Field> prev_pid, prev_state, next_pid, next_prio, parent_pid, child_pid;
  };
  struct Source {
    EventTable<Plan> plans;
    const NameTable* names;
  };
  struct Cpu {
    std::optional<uint32_t> tid;          // the running thread, if known
    Unknown end = Unknown::none;          // why the switch from it may be missing
    bool selected = true;                 // by the switch to it
    uint64_t since = 0;                   // start of the run or of the unknown time
    Unknown why = Unknown::before_trace;  // it is unknown
  };
  static Plan plan_of(const Event& event);

  void on_switch(const Plan& plan, const RecordOrigin& from, RecordView record,
                 const NameTable& names);
  [[nodiscard]] Unknown end_of_run(const Cpu& cpu, const Switch& change) const;
  void interrupt(uint32_t number, Cpu& cpu, std::optional<uint64_t> known_until, Unknown why);
  void give_run(const RunInterval& interval);
  static RunInterval run_of(uint32_t number, const Cpu& cpu, uint64_t end);
  void give_unknown(uint32_t number, const Cpu& cpu, uint64_t end);

  std::vector<RunSink*> sinks_;
  std::vector<Source> sources_;
  ThreadCoverage coverage_;
  std::map<uint32_t, Cpu> cpus_;
};

}  // namespace ktraced
