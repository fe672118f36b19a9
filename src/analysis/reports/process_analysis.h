// SPDX-License-Identifier: BSD-2-Clause
// The processes of a trace: where they come from, what they run, how they end.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/coverage/actor.h"
#include "analysis/coverage/event_table.h"
#include "analysis/coverage/task_history.h"
#include "analysis/coverage/thread_coverage.h"
#include "analysis/coverage/thread_end.h"
#include "analysis/intervals/run_tracker.h"

namespace ktraced {

// A process that another one started, woke or ended.
struct ProcessRef {
  uint32_t pid = 0;
  std::string comm;             // may be empty
  std::optional<uint32_t> row;  // of ProcessAnalysis::rows()
};

// A signal that was sent to a process.
struct SentSignal {
  uint64_t ts = 0;
  bool by_kernel = false;  // not by a process: `from` is only who was running
  uint32_t tid = 0;        // of the sender
  ProcessRef from;
};

struct ProcessRow : ActorRow {
  std::optional<uint32_t> uid;
  // The process that forked it; if that was before the window, see Task::parent_pid. Nothing: none,
  // or not in the trace.
  std::optional<ProcessRef> parent;
  bool forked = false;  // in the trace

  uint64_t execs = 0;
  std::string program;  // of its last exec; may be empty
  // Arguments of its last exec, if the trace has it; without an exec, see Task::argv.
  std::optional<std::string> argv;
  uint64_t argv_read_ns = 0;  // see Task::argv_read_ns

  std::string cgroup;      // path of its control group, the last known; may be empty
  uint64_t cgroup_id = 0;  // of that group; if no path is known, of its last one. 0: unknown

  uint64_t threads = 0;    // created in the trace, the main thread included
  uint64_t cpu_ns = 0;     // time its threads ran
  bool measured = false;   // false: it is not known when its threads ran
  uint64_t uncertain = 0;  // runs that are not counted: something is missing in them

  uint64_t first_ns = 0;                // time of its first event
  uint64_t last_ns = 0;                 // of its last one
  std::optional<uint64_t> end_ns;       // may be before first_ns; nothing: not in the trace
  Unknown end_unknown = Unknown::none;  // why its end may be missing; none: it runs at the end
  std::optional<int32_t> exit_code;     // the status that wait(2) gives
  std::optional<SentSignal> killer;     // who sent the signal that ended it
  bool oom_victim = false;
  bool selected = false;  // an event about it is
};

// Lists every process that an event is about. Its CPU time is the sum of the runs of a RunTracker.
// Memory: at most kMaxProcesses rows, with the texts of their last exec.
class ProcessAnalysis : public Analysis, public RunSink {
 public:
  static constexpr size_t kMaxProcesses = 65536;

  ProcessAnalysis() { runs_.add_sink(*this); }
  ProcessAnalysis(const ProcessAnalysis&) = delete;
  ProcessAnalysis& operator=(const ProcessAnalysis&) = delete;

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  void on_config_change(uint64_t ts, const TraceConfig& config) override;
  void set_selector(const RecordSelector& selector) override;
  void on_run(const RunInterval& interval) override;
  void on_switch(const Switch& what) override;
  // Adds what traces know of the processes before the window, or by events that were left out. Call
  // it after the last record.
  void complete(const TaskHistory& tasks);
  // Call after the last record. Running threads run until `end_ns`.
  void finish(uint64_t end_ns);

  // In order of appearance. Without the idle tasks.
  [[nodiscard]] const std::vector<ProcessRow>& rows() const { return rows_; }
  // Events of processes after the table was full.
  [[nodiscard]] uint64_t not_followed() const { return not_followed_; }
  [[nodiscard]] uint64_t lost() const { return lost_; }

 private:
  struct Plan {
    enum class Kind : uint8_t {
      other,
      switched,
      fork,
      exec,
      exit,
      signal,
      victim
    } kind = Kind::other;
    bool of_current = false;  // see ThreadCoverage::is_of_current()
    std::optional<Field> pid, old_pid, parent_pid, child_pid, child_tgid, filename, argv, sig, code,
        result;
    ThreadEndFields end;
  };
  struct Source {
    EventTable<Plan> plans;
    const NameTable* names;
  };
  // A record, with what is needed to read it.
  struct Item {
    const RecordOrigin& from;
    const Plan& plan;
    RecordView record;
    const NameTable& names;
  };
  // What has been sent to a process, by signal.
  using Signals = std::map<int32_t, SentSignal>;
  static Plan plan_of(const Event& event);

  ProcessRow* row_of(uint32_t tid, uint64_t ts, const TaskName* task, const NameTable& names);
  ProcessRow* row_in(const Item& item, uint32_t tid);
  static void note_parent(ProcessRow& row, uint32_t parent, uint64_t start_ns,
                          const NameTable& names);
  static void note_earlier_end(ProcessRow& row, const Task& task);
  void find_commands();
  void find_parents();
  static void note_cgroup(ProcessRow& row, uint32_t tid, uint64_t ts, const NameTable& names);
  [[nodiscard]] uint32_t number_of(const ProcessRow& row) const;
  [[nodiscard]] ProcessRef ref_to(const ProcessRow& row) const;
  void see(uint32_t cpu, uint64_t ts);
  void on_fork(const Item& item);
  void on_exec(const Item& item);
  void on_exit(const Item& item);
  void on_signal(const Item& item);
  void end_process(ProcessRow& row, uint64_t ts);
  void find_killer(ProcessRow& row);
  [[nodiscard]] Unknown why_no_end(const ProcessRow& row, uint32_t number) const;

  RunTracker runs_;
  std::vector<Source> sources_;
  ThreadCoverage coverage_;
  std::optional<TraceConfig> config_;
  ActorNumbers numbers_{kMaxProcesses};
  std::vector<ProcessRow> rows_;                         // by number
  bool completed_ = false;                               // see complete()
  std::unordered_map<uint32_t, Signals> signals_;        // by row
  std::unordered_set<uint32_t> covered_;                 // rows that the filter accepts
  std::unordered_map<uint32_t, uint32_t> ended_;         // row of each thread that has ended, by id
  std::map<uint32_t, std::optional<uint32_t>> running_;  // row on each CPU
  std::unordered_set<uint32_t> losing_;                  // CPUs that are losing ends of threads
  uint64_t gap_ns_ = 0;                                  // no end is missing after this time
  Unknown gap_ = Unknown::none;                          // why ends may be missing before
  uint64_t lost_ = 0, not_followed_ = 0;
};

}  // namespace ktraced
