// SPDX-License-Identifier: BSD-2-Clause
// Durations and results of system calls.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/coverage/actor.h"
#include "analysis/coverage/limited_rows.h"
#include "analysis/intervals/call_tracker.h"
#include "analysis/reports/histogram.h"
#include "analysis/reports/longest.h"

namespace ktraced {

// The calls of one kind, by one process, the actor, or by all; then there is no actor.
struct SyscallRow : ActorRow {
  uint32_t abi = 0;
  int32_t nr = 0;
  bool others = false;                 // all calls after the table was full
  uint64_t calls = 0;                  // that returned, or ended their thread
  uint64_t first_ns = 0;               // when the first call returned, or ended its thread
  uint64_t failed = 0;                 // calls with an error
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
  bool args_known = true;
  int64_t ret = 0;
};

// Sums up the selected calls of a CallTracker. A child that was created by clone() or a similar
// call returns from it too, without a sys_enter. exit() and exit_group() never return. A killed
// thread does not return from its call; sched_process_exit reports that. Memory: rows (at most
// kMaxRows in each table, with up to 8 KiB each), and the slowest calls.
class SyscallAnalysis : public CallSink {
 public:
  static constexpr size_t kMaxRows = 8192;

  // Takes the calls of `tracker`, which must outlive this.
  SyscallAnalysis(CallTracker& tracker, size_t slowest) : tracker_(tracker), slowest_(slowest) {
    tracker.add_sink(*this);
  }
  SyscallAnalysis(const SyscallAnalysis&) = delete;
  SyscallAnalysis& operator=(const SyscallAnalysis&) = delete;

  void on_begin(const Call& call, const CallRecord& at, Unknown unknown) override;
  void on_end(const CallInterval& interval) override;

  [[nodiscard]] const std::vector<SyscallRow>& by_process() const { return by_process_.rows(); }
  [[nodiscard]] const std::vector<SyscallRow>& by_call() const { return by_call_.rows(); }
  // The longest first.
  [[nodiscard]] std::vector<SyscallCall> slowest() const { return slowest_.sorted(); }
  // Exits of calls whose beginning is not in the trace.
  [[nodiscard]] uint64_t begun_before() const { return begun_before_; }
  // Calls whose end is not in the trace although their thread continued.
  [[nodiscard]] uint64_t end_unseen() const { return end_unseen_; }
  // Calls that had not returned at the end.
  [[nodiscard]] uint64_t running() const { return running_; }
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
  [[nodiscard]] uint64_t lost() const { return tracker_.lost(); }

 private:
  // What a call is counted as.
  struct Counted {
    uint32_t abi = 0;
    int32_t nr = 0;
    int64_t ret = 0;             // 0 if it is not known
    std::optional<uint64_t> ns;  // its duration, if known
    uint64_t ts = 0;             // when it returned, or ended its thread
  };

  void on_return(const CallReturn& returned, const Call* begun, const CallInterval& interval);
  void count(const Counted& call, const Actor& actor);
  static void count(SyscallRow& row, const Counted& call);
  void note_slow(const Call& call, const CallReturn& returned, const Counted& counted);

  CallTracker& tracker_;
  ActorNumbers processes_{kMaxRows};
  LimitedRows<SyscallRow> by_process_{kMaxRows}, by_call_{kMaxRows};
  Longest<SyscallCall> slowest_;
  uint64_t running_ = 0, begun_before_ = 0, end_unseen_ = 0, uncertain_ = 0;
  uint64_t child_returns_ = 0, ended_ = 0, killed_ = 0, not_followed_ = 0;
};

}  // namespace ktraced
