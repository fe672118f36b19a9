// SPDX-License-Identifier: BSD-2-Clause
// Run times and waiting times of threads.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/coverage/event_table.h"
#include "analysis/coverage/identities.h"
#include "analysis/coverage/thread_coverage.h"
#include "analysis/reports/histogram.h"
#include "analysis/reports/longest.h"

namespace ktraced {

// One thread.
struct SchedRow {
  uint32_t tid = 0;
  uint32_t pid = 0;       // its process
  uint64_t start_ns = 0;  // of the thread, CLOCK_BOOTTIME; 0: unknown
  std::string comm;
  bool others = false;  // all threads after the table was full
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

// Uses sched_switch, sched_wakeup, sched_wakeup_new and sched_migrate_task. A loss on a CPU ends
// its known state: intervals across it are not counted. With a filter, switches between two
// rejected threads are missing, so only times of matching threads are counted. Memory: at most
// kMaxRows threads, with up to 8 KiB each, and kMaxWaiting waiting threads.
class SchedAnalysis : public Analysis {
 public:
  static constexpr size_t kMaxRows = 8192;
  static constexpr size_t kMaxWaiting = 262144;

  explicit SchedAnalysis(size_t longest, size_t max_waiting = kMaxWaiting)
      : max_waiting_(max_waiting), longest_(longest) {}

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  void on_config_change(uint64_t ts, const TraceConfig& scope) override;
  // Call after the last record. Running threads run until `end_ns`.
  void finish(uint64_t end_ns);

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
    enum class Kind : uint8_t { other, switched, woken, migrated, forked } kind = Kind::other;
    bool of_current = false;  // recorded only if the current thread matches
    std::optional<Field> prev_pid, prev_state, next_pid, pid, parent_pid, child_pid;
  };
  struct Source {
    EventTable<Plan> plans;
    const NameTable* names;
  };
  // A runnable thread that is not running.
  struct Waiting {
    uint64_t since = 0;
    uint64_t losses = 0;  // losses_ when the wait began
    bool woken = false;   // false: it was preempted
  };
  // A run interval of a thread.
  struct Slice {
    uint32_t tid = 0;
    uint32_t row = 0;  // index in rows_, unless idle
    uint64_t begin = 0, end = 0;
  };
  struct Cpu {
    std::optional<Slice> now;              // the running thread, if known
    bool now_whole = false;                // known to match the filter at its start
    static constexpr size_t kSlices = 64;  // number of stored runs
    std::array<Slice, kSlices> slices{};
    size_t next_slice = 0;
    bool losing = false;  // it is losing events
  };
  static Plan plan_of(const Event& event);

  void lose_track();
  void on_switch(const Plan& plan, uint32_t cpu, RecordView record, const NameTable& names);
  void switch_out(uint32_t tid, bool runnable, uint32_t cpu, uint64_t ts, const NameTable& names);
  void switch_in(uint32_t tid, uint32_t cpu, uint64_t ts, const NameTable& names);
  void on_woken(uint32_t tid, uint64_t ts);
  void wait(uint32_t tid, const Waiting& waiting);
  void ran(uint32_t cpu, const Slice& slice);
  void note_long(SchedDelay delay, const NameTable& names);
  void name_instead(SchedDelay& delay, const NameTable& names) const;
  uint32_t row_of(uint32_t tid, uint64_t ts, const NameTable& names);
  [[nodiscard]] bool runs(uint32_t tid) const;

  size_t max_waiting_;
  std::vector<Source> sources_;
  ThreadCoverage coverage_;
  Identities threads_{kMaxRows};
  std::vector<SchedRow> rows_;  // by number
  std::unordered_map<uint32_t, Waiting> waiting_;
  std::map<uint32_t, Cpu> state_;
  std::map<uint32_t, SchedCpu> cpus_;
  Longest<SchedDelay> longest_;
  Histogram delays_;
  uint64_t losses_ = 0;  // incremented when a loss begins and ends
  uint64_t losing_ = 0;  // number of CPUs that are losing events
  uint64_t lost_ = 0, uncertain_ = 0, not_followed_ = 0;
};

}  // namespace ktraced
