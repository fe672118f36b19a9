// SPDX-License-Identifier: BSD-2-Clause
// Events and CPU time by process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/coverage/actor.h"
#include "analysis/coverage/event_table.h"
#include "analysis/intervals/run_tracker.h"
#include "ctl/rates/activity_rates.h"
#include "trace/metadata/command_record.h"

namespace ktraced {

// Counts the selected events of each process, and measures how long its threads run, for which it
// uses sched_switch. Reads one source. Starts over after each take(), so that processes that have
// ended need no memory. Processes after the first kMaxProcesses are left out, and of their execs
// the newest are kept, at most that many.
class ProcessRates : public ActivityRates, public RunSink {
 public:
  static constexpr size_t kMaxProcesses = 65536;

  // Nothing before `begin_ns` (CLOCK_BOOTTIME) is counted.
  explicit ProcessRates(uint64_t begin_ns) : begin_ns_(begin_ns) { runs_.add_sink(*this); }
  ProcessRates(const ProcessRates&) = delete;
  ProcessRates& operator=(const ProcessRates&) = delete;

  void add_source(const Schema& schema, const NameTable& names) override;
  void set_selector(const RecordSelector& selector) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override { runs_.on_loss(loss); }
  void on_config_change(uint64_t ts, const TraceConfig& config) override;
  void on_run(const RunInterval& interval) override;
  void on_switch(const Switch& what) override;

  [[nodiscard]] TopTable take(uint64_t since_ns, uint64_t until_ns) override;

 private:
  struct Process : ActorRow {
    uint64_t events = 0;
    std::optional<uint64_t> cpu_ns;  // nothing: no run of its threads is known
  };
  // A thread that a CPU runs.
  struct Running {
    uint32_t tid = 0;       // 0: the idle task, or unknown
    uint64_t since_ns = 0;  // nothing before it is still to be counted
    bool may_have_stopped_cpu = false;
  };

  Process* process_of(const Actor& actor);
  void note_exec(const Field& argv, RecordView record, const Actor& actor);
  void count_run(const Running& running, uint64_t until_ns);
  [[nodiscard]] TopRow row_of(const Process& process, double seconds) const;
  [[nodiscard]] std::string command_of(const Process& process) const;

  uint64_t begin_ns_;
  RunTracker runs_;
  const NameTable* names_ = nullptr;
  std::optional<EventTable<std::optional<Field>>> argvs_;  // the field of an exec
  bool has_switches_ = true;
  std::unordered_map<uint32_t, Running> running_;    // by CPU
  std::unordered_map<uint32_t, CommandLine> execs_;  // the newest, by process id
  ActorNumbers numbers_{kMaxProcesses};
  std::vector<Process> processes_;  // by number
  uint64_t events_ = 0;             // of all processes
};

}  // namespace ktraced
