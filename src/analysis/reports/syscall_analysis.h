// SPDX-License-Identifier: BSD-2-Clause
// Durations and results of system calls.
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
#include "analysis/reports/histogram.h"
#include "analysis/reports/longest.h"

namespace ktraced {

// The calls of one kind, by one process or by all.
struct SyscallRow {
  uint32_t pid = 0;       // in the row of a process
  bool pid_known = true;  // false: `pid` is the id of a thread whose process is not known
  uint64_t start_ns = 0;  // of the process, CLOCK_BOOTTIME; 0: unknown
  std::string comm;       // of its main thread, else of any of its threads
  uint32_t abi = 0;
  int32_t nr = 0;
  bool others = false;                 // all calls after the table was full
  uint64_t calls = 0;                  // that returned, or ended their thread
  uint64_t failed = 0;                 // of these, with an error
  std::map<int32_t, uint64_t> errors;  // by errno
  Histogram ns;                        // durations, if known
};

// One call.
struct SyscallCall {
  uint64_t begin_ns = 0;
  uint64_t ns = 0;
  uint32_t tid = 0;
  std::string comm;
  uint32_t abi = 0;
  int32_t nr = 0;
  std::array<uint64_t, 6> args{};
  int64_t ret = 0;
};

// Pairs sys_enter and sys_exit of each thread. A child that was created by clone() or a similar
// call returns from it too, without a sys_enter. exit() and exit_group() never return. A killed
// thread does not return from its call; sched_process_exit reports that. Memory: running calls (at
// most kMaxRunning), rows (at most kMaxRows in each table, with up to 8 KiB each), and the slowest
// calls.
class SyscallAnalysis : public Analysis {
 public:
  static constexpr size_t kMaxRows = 8192;
  static constexpr size_t kMaxRunning = 262144;

  explicit SyscallAnalysis(size_t slowest, size_t max_running = kMaxRunning)
      : max_running_(max_running), slowest_(slowest) {}

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  void on_config_change(uint64_t ts, const TraceConfig& scope) override;

  [[nodiscard]] const std::vector<SyscallRow>& by_process() const { return by_process_.rows; }
  [[nodiscard]] const std::vector<SyscallRow>& by_call() const { return by_call_.rows; }
  // The longest first.
  [[nodiscard]] std::vector<SyscallCall> slowest() const { return slowest_.sorted(); }
  // Exits of calls whose beginning is not in the trace.
  [[nodiscard]] uint64_t begun_before() const { return begun_before_; }
  // Calls whose end is not in the trace although their thread continued.
  [[nodiscard]] uint64_t end_unseen() const { return end_unseen_; }
  // Calls that had not returned at the end.
  [[nodiscard]] uint64_t running() const { return running_.size(); }
  // First returns of new threads, from the call that created them.
  [[nodiscard]] uint64_t child_returns() const { return child_returns_; }
  // Calls that did not return because their thread ended: in exit() or exit_group(), or killed in
  // another call.
  [[nodiscard]] uint64_t ended() const { return ended_; }
  [[nodiscard]] uint64_t killed() const { return killed_; }
  // Calls that were evicted, because too many were running.
  [[nodiscard]] uint64_t not_followed() const { return not_followed_; }
  // Calls whose duration is unknown, because events were lost while they ran.
  [[nodiscard]] uint64_t uncertain() const { return uncertain_; }
  [[nodiscard]] uint64_t lost() const { return lost_; }

 private:
  struct Plan {
    enum class Kind : uint8_t { other, enter, exit, exec, thread_end } kind = Kind::other;
    std::optional<Field> nr, abi, args, ret, old_pid;
  };
  struct Source {
    EventTable<Plan> plans;
    const NameTable* names;
  };
  struct Running {
    uint64_t ts = 0;
    uint32_t abi = 0;
    int32_t nr = 0;
    std::array<uint64_t, 6> args{};
    uint64_t losses = 0;  // losses_ when the call began
  };
  struct Table {
    std::unordered_map<uint64_t, uint32_t> index;
    std::vector<SyscallRow> rows;
  };
  static Plan plan_of(const Event& event);
  static SyscallRow& row_of(Table& table, uint64_t key);

  void on_enter(const Plan& plan, RecordView record, const NameTable& names);
  void on_exec(const Plan& plan, RecordView record);
  void on_thread_end(uint32_t tid);
  [[nodiscard]] static bool is_child_return(const Running& call, int64_t ret);
  void on_exit(const Plan& plan, RecordView record, const NameTable& names);
  std::optional<uint64_t> end_of(Running& call, RecordView record);
  void count(const Running& call, RecordView record, const NameTable& names, int64_t ret,
             std::optional<uint64_t> ns);
  static void count(SyscallRow& row, const Running& call, int64_t ret, std::optional<uint64_t> ns);
  void note_slow(const Running& call, RecordView record, int64_t ret, uint64_t ns,
                 const NameTable& names);

  size_t max_running_;
  std::vector<Source> sources_;
  std::optional<TraceConfig> config_;
  ActorNumbers processes_{kMaxRows};
  Table by_process_, by_call_;
  std::unordered_map<uint32_t, Running> running_;  // by thread
  Longest<SyscallCall> slowest_;
  std::unordered_set<uint32_t> losing_;  // CPUs that are losing events
  uint64_t losses_ = 0;                  // incremented when a loss begins and ends
  uint64_t begun_before_ = 0, end_unseen_ = 0, uncertain_ = 0, lost_ = 0;
  uint64_t child_returns_ = 0, ended_ = 0, killed_ = 0, not_followed_ = 0;
};

}  // namespace ktraced
