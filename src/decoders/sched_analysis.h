// SPDX-License-Identifier: BSD-2-Clause
// Who runs, who waits for a CPU, and for how long.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "decoders/analysis.h"
#include "decoders/event_table.h"
#include "decoders/histogram.h"
#include "decoders/identities.h"
#include "decoders/longest.h"
#include "decoders/whole_threads.h"

namespace ktraced {

// One thread.
struct SchedRow {
  uint32_t tid = 0;
  uint32_t pid = 0;       // its process
  uint64_t start_ns = 0;  // of the thread, CLOCK_BOOTTIME; 0: it is not known
  std::string comm;
  bool others = false;  // all that came when the table was full
  // All that it does is in the trace, at least for some time; else its times are not known,
  // because a filter left it out: it is only seen beside others.
  bool measured = false;
  uint64_t on_cpu_ns = 0;
  uint64_t switched_in = 0;
  uint64_t slept = 0;      // left the CPU because it had to wait for something
  uint64_t preempted = 0;  // left it although it could have gone on
  uint64_t migrations = 0;
  uint64_t preempted_ns = 0;  // waited to go on
  Histogram delay;            // from being woken to running
};

// One CPU, from its first switch to the end.
struct SchedCpu {
  uint64_t busy_ns = 0, idle_ns = 0;
  uint64_t unknown_ns = 0;  // something was lost, tracing was paused, or a filter was set
  uint64_t switches = 0;
  uint64_t first_ns = 0;
};

// A long way from being woken to running.
struct SchedDelay {
  uint64_t woken_ns = 0;
  uint64_t ns = 0;
  uint32_t cpu = 0;  // on which it ran at last
  uint32_t tid = 0;
  std::string comm;
  // What ran on that CPU for most of the time; nothing if that is not known.
  std::optional<uint32_t> instead_tid;
  std::string instead_comm;
  uint64_t instead_ns = 0;
};

// Follows sched_switch, sched_wakeup, sched_wakeup_new and sched_migrate_task. What was lost on a
// CPU ends what is known of it: times that go across are not counted. Where a filter was set,
// switches between two threads that it leaves out are missing: only times of threads that pass
// are counted then. Memory: at most kMaxRows threads, with up to 8 KiB each, and kMaxWaiting that
// wait.
class SchedAnalysis : public Analysis {
 public:
  static constexpr size_t kMaxRows = 8192;
  static constexpr size_t kMaxWaiting = 262144;

  explicit SchedAnalysis(size_t longest, size_t max_waiting = kMaxWaiting)
      : max_waiting_(max_waiting), longest_(longest) {}

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  void on_scope(uint64_t ts, const TraceScope& scope) override;
  // No more records come; what runs has run until then.
  void finish(uint64_t end_ns);

  [[nodiscard]] const std::vector<SchedRow>& threads() const { return rows_; }
  [[nodiscard]] const std::map<uint32_t, SchedCpu>& cpus() const { return cpus_; }
  // The longest first.
  [[nodiscard]] std::vector<SchedDelay> longest() const { return longest_.sorted(); }
  [[nodiscard]] const Histogram& delays() const { return delays_; }  // of all threads
  [[nodiscard]] uint64_t lost() const { return lost_; }
  // Times that are not counted, because something is missing meanwhile.
  [[nodiscard]] uint64_t unsure() const { return unsure_; }
  // Threads whose waiting was no longer followed, because too many were waiting.
  [[nodiscard]] uint64_t not_followed() const { return not_followed_; }

 private:
  struct Plan {
    enum class Kind : uint8_t { other, switched, woken, migrated, forked } kind = Kind::other;
    bool of_current = false;  // recorded only if the thread passes that it happened in
    std::optional<Field> prev_pid, prev_state, next_pid, pid, parent_pid, child_pid;
  };
  struct Source {
    EventTable<Plan> plans;
    const NameTable* names;
  };
  // A thread that does not run, but could.
  struct Waiting {
    uint64_t since = 0;
    uint64_t losses = 0;  // losses_ when it began
    bool woken = false;   // else it was preempted
  };
  // A time that a thread ran.
  struct Slice {
    uint32_t tid = 0;
    uint32_t row = 0;  // index in rows_, unless it is idle
    uint64_t begin = 0, end = 0;
  };
  struct Cpu {
    std::optional<Slice> now;              // what runs, if that is known
    bool now_whole = false;                // known to pass the filter when it began
    static constexpr size_t kSlices = 64;  // remembered
    std::array<Slice, kSlices> slices{};
    size_t next_slice = 0;
    bool losing = false;  // its loss is not over
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
  WholeThreads whole_;
  Identities threads_{kMaxRows};
  std::vector<SchedRow> rows_;  // by number
  std::unordered_map<uint32_t, Waiting> waiting_;
  std::map<uint32_t, Cpu> state_;
  std::map<uint32_t, SchedCpu> cpus_;
  Longest<SchedDelay> longest_;
  Histogram delays_;
  uint64_t losses_ = 0;  // grows when a loss begins and when it is over
  uint64_t losing_ = 0;  // CPUs whose loss is not over
  uint64_t lost_ = 0, unsure_ = 0, not_followed_ = 0;
};

}  // namespace ktraced
