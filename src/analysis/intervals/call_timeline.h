// SPDX-License-Identifier: BSD-2-Clause
// The system calls of each thread over time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/coverage/event_table.h"
#include "analysis/intervals/timeline_slices.h"
#include "analysis/intervals/timeline_tasks.h"

namespace ktraced {

// Pairs sys_enter and sys_exit of each thread, but not across a loss. A call lasts until
// sched_process_exit if its thread ends in it. Memory: as TimelineSlices with the given limits,
// plus the threads with a lane and the running calls of others.
class CallTimeline : public Analysis {
 public:
  static constexpr size_t kMaxSlices = 262144;
  static constexpr size_t kMaxThreads = 4096;
  static constexpr size_t kMaxRunning = 262144;

  // A kind of system call.
  struct Call {
    uint32_t abi = 0;
    int32_t nr = 0;
  };

  explicit CallTimeline(size_t max_slices = kMaxSlices, size_t max_threads = kMaxThreads)
      : max_threads_(max_threads), slices_(max_slices) {}

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  void on_config_change(uint64_t ts, const TraceConfig& scope) override;
  // Call after the last record. Calls that have not returned last until `end_ns`, except for those
  // that never return.
  void finish(uint64_t end_ns);

  // One lane for each of threads(); `what` is an index into calls().
  [[nodiscard]] const TimelineSlices& slices() const { return slices_; }
  [[nodiscard]] const std::vector<TimelineTask>& threads() const { return threads_; }
  [[nodiscard]] const std::vector<Call>& calls() const { return calls_; }
  // Calls of threads beyond the limit,
  [[nodiscard]] uint64_t other_calls() const { return other_calls_; }
  // and calls with an unknown beginning or end. Neither are in slices().
  [[nodiscard]] uint64_t uncertain() const { return uncertain_; }

 private:
  struct Plan {
    enum class Kind : uint8_t { other, enter, exit, death, exec } kind = Kind::other;
    std::optional<Field> nr, abi, ret, old_thread;
  };
  struct Source {
    EventTable<Plan> plans;
    const NameTable* names;
  };
  struct Running {
    uint32_t what = 0;
    uint64_t since = 0;
    uint64_t losses = 0;  // losses_ when the call began
  };
  static Plan plan_of(const Event& event);

  bool is_child_return(const Plan& plan, RecordView record);
  void on_exit(const Plan& plan, RecordView record, const NameTable& names);
  void on_exec(const Plan& plan, RecordView record);
  void on_death(uint32_t tid, uint64_t ts);
  [[nodiscard]] bool never_returns(const Running& call) const;
  void add(uint32_t tid, const Running& call, uint64_t end);
  void name(uint32_t tid, uint64_t ts, const NameTable& names);
  uint32_t call_of(const Plan& plan, RecordView record);
  std::optional<uint32_t> lane_of(uint32_t tid);

  size_t max_threads_;
  std::vector<Source> sources_;
  std::optional<TraceConfig> config_;
  TimelineSlices slices_;
  std::vector<TimelineTask> threads_;
  std::unordered_map<uint32_t, uint32_t> lanes_;  // by thread
  std::vector<Call> calls_;
  std::map<std::pair<uint32_t, int32_t>, uint32_t> call_index_;
  std::unordered_map<uint32_t, Running> running_;  // by thread
  std::unordered_set<uint32_t> losing_;            // CPUs that are losing events
  uint64_t losses_ = 0;                            // incremented when a loss begins and ends
  uint64_t other_calls_ = 0, uncertain_ = 0;
};

}  // namespace ktraced
