// SPDX-License-Identifier: BSD-2-Clause
// Which system call each thread was in, and when.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "decoders/analysis.h"
#include "decoders/event_table.h"
#include "decoders/timeline_slices.h"
#include "decoders/timeline_tasks.h"

namespace ktraced {

// Pairs sys_enter and sys_exit of each thread; not across a loss. What a thread was in when it
// ended (sched_process_exit) lasted until then. Memory: as TimelineSlices, with
// the limits given here; the threads that have a lane, and what others are in.
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
  void on_scope(uint64_t ts, const TraceScope& scope) override;
  // No more records come; calls that have not returned lasted until then, but for those that
  // never do.
  void finish(uint64_t end_ns);

  // A lane for each of threads(); `what` is an index of calls().
  [[nodiscard]] const TimelineSlices& slices() const { return slices_; }
  [[nodiscard]] const std::vector<TimelineTask>& threads() const { return threads_; }
  [[nodiscard]] const std::vector<Call>& calls() const { return calls_; }
  // Calls that have no place: of threads beyond the limit,
  [[nodiscard]] uint64_t other_calls() const { return other_calls_; }
  // and those whose beginning or end is not known.
  [[nodiscard]] uint64_t unsure() const { return unsure_; }

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
    uint64_t losses = 0;  // losses_ when it began
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
  std::optional<TraceScope> scope_;
  TimelineSlices slices_;
  std::vector<TimelineTask> threads_;
  std::unordered_map<uint32_t, uint32_t> lanes_;  // by thread
  std::vector<Call> calls_;
  std::map<std::pair<uint32_t, int32_t>, uint32_t> call_index_;
  std::unordered_map<uint32_t, Running> running_;  // by thread
  std::unordered_set<uint32_t> losing_;            // CPUs whose losses are not over
  uint64_t losses_ = 0;                            // grows when a loss begins and when it is over
  uint64_t other_calls_ = 0, unsure_ = 0;
};

}  // namespace ktraced
