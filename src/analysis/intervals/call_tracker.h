// SPDX-License-Identifier: BSD-2-Clause
// Pairs the beginnings and ends of system calls.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/coverage/call_result.h"
#include "analysis/coverage/event_table.h"
#include "analysis/intervals/continuity.h"
#include "analysis/intervals/thread_calls.h"

namespace ktraced {

// A system call that has begun.
struct Call {
  uint32_t abi = 0;
  int32_t nr = 0;
  uint64_t begin_ns = 0;
  std::array<uint64_t, 6> args{};
  bool args_known = true;
  bool never_returns = false;   // exit() or exit_group(): ends with its thread
  MetConditions met = kAllMet;  // by its sys_enter
};

// A record that begins or ends a call.
struct CallRecord {
  const RecordOrigin& from;
  RecordView record;
  const NameTable& names;
  const TaskName* task = nullptr;  // its thread, if known; only of a return
};

// What sys_exit says, or sys_completed of the end.
struct CallReturn {
  uint32_t abi = 0;
  int32_t nr = 0;
  int64_t ret = 0;
  CallRecord at;
  MetConditions met = kAllMet;  // by its sys_exit
  // False of sigreturn, and if it may be that: `ret` is a register of what the signal interrupted.
  bool is_result = true;

  // A positive errno. 0: the call did not fail, or that is not known.
  [[nodiscard]] int32_t error() const { return is_result ? error_of_result(ret) : 0; }
};

enum class CallEnd : uint8_t {
  returned,        // with sys_exit
  child_returned,  // a new thread returned from the call of its creator: no call of its own
  other_returned,  // the next event of its thread is the sys_exit of another call
  unseen,          // not in the trace: then its thread began another call, or another thread its id
  thread_ended,    // sched_process_exit, or execve in another thread of its process
  not_followed,    // evicted: too many calls were running
  trace_ended,     // it was running at the end of the trace
};

// A call, or the part of it that is in the trace.
struct CallInterval {
  uint32_t tid = 0;            // the thread, under its id at the end
  const Call* call = nullptr;  // null: its beginning is not in the trace
  CallEnd end = CallEnd::returned;
  const CallReturn* returned = nullptr;  // of the CallEnds that are a return
  uint64_t end_ns = 0;
  // Why it is not known that the call lasted from its beginning to `end_ns`.
  Unknown unknown = Unknown::none;

  [[nodiscard]] bool known() const { return call != nullptr && unknown == Unknown::none; }
  // Each condition may be met by its beginning or by its own end.
  [[nodiscard]] MetConditions met() const {
    const bool own_end = end == CallEnd::returned || end == CallEnd::child_returned;
    return (call != nullptr ? call->met : 0) | (own_end ? returned->met : 0);
  }
  [[nodiscard]] bool selected() const { return met() == kAllMet; }
};

// Receives calls from a CallTracker. What the arguments refer to is valid during the call.
class CallSink {
 public:
  virtual ~CallSink() = default;
  // `unknown`: why the end of this call will not be known.
  virtual void on_begin(const Call& call, const CallRecord& at, Unknown unknown) = 0;
  virtual void on_end(const CallInterval& interval) = 0;
  // The ends of all running calls will not be known. They are still given to on_end().
  virtual void on_interrupt(uint64_t /*ts*/, Unknown /*why*/) {}
  // By execve, thread `from` has got the id `to`, under which its call continues.
  virtual void on_new_id(uint32_t /*from*/, uint32_t /*to*/, uint64_t /*ts*/) {}
};

// Turns sys_enter, sys_exit, sched_process_exec and sched_process_exit into calls, and
// sys_completed into a call that begins and ends with this record. A call that has both forms is
// given once. Each call that begins also ends. A call is known only if nothing was lost or changed
// while it ran. A thread is its id and its start time: a thread that is younger than a call does
// not return from it. Memory: at most `max_threads` threads; then those that are in no call are
// evicted, and if these are few, the older half of the calls.
class CallTracker : public Analysis {
 public:
  static constexpr size_t kMaxThreads = 262144;

  explicit CallTracker(size_t max_threads = kMaxThreads) : max_threads_(max_threads) {}
  // `sink` must outlive the last event. Sinks get each call in the order in which they were added.
  void add_sink(CallSink& sink) { sinks_.push_back(&sink); }

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  void on_config_change(uint64_t ts, const TraceConfig& config) override;
  // Beginnings of calls may be missing without a loss.
  void miss_beginnings() { beginnings_missed_ = true; }
  // Call after the last record: ends the calls that are running.
  void finish(uint64_t end_ns);

  // Notes that a record of this CPU was left out. Use skip() if it may begin a call.
  void see(uint32_t cpu) { continuity_.see(cpu); }
  // Notes a record that was left out: if a call begins with it, that is missing.
  void skip(const RecordOrigin& from, RecordView record);
  // Events of this CPU are missing from now until its next record.
  void lose(uint32_t cpu, uint64_t ts);
  // Events of any CPU may be missing before now.
  void interrupt(uint64_t ts, Unknown why);

  // May a call be given that began at `ns` or earlier? One of sys_completed comes when it ends.
  [[nodiscard]] bool is_open(uint64_t ns) const;
  // Events sys_enter, sys_exit and sys_completed that were lost.
  [[nodiscard]] uint64_t lost() const { return lost_; }

 private:
  struct Plan {
    enum class Kind : uint8_t {
      other,
      enter,
      exit,
      completed,
      exec,
      thread_end
    } kind = Kind::other;
    std::optional<Field> nr, abi, args, args_known, ret, duration, old_pid;
    [[nodiscard]] bool is_call() const {
      return kind == Kind::enter || kind == Kind::exit || kind == Kind::completed;
    }
  };
  struct Source {
    EventTable<Plan> plans;
    const NameTable* names;
  };
  // The end of a thread's last call. The other record of it may follow.
  struct LastEnd {
    enum class By : uint8_t { nothing, exit, completed } by = By::nothing;
    int32_t nr = 0;
    int64_t ret = 0;
    uint64_t ns = 0;
  };
  struct Thread {
    Call call;
    uint64_t since = 0;  // continuity_.now() when it began
    bool in_call = false;
    bool has_begun = false;  // at `since`, and no later beginning was left out
    LastEnd last;
  };
  static Plan plan_of(const Event& event);
  // Is this the other record of the last call? Each record is that of one call.
  static bool take_last(Thread& thread, LastEnd::By by, const CallReturn& returned,
                        uint64_t begin_ns);
  Thread& thread_of(RecordView record);
  [[nodiscard]] CallReturn return_of(const Plan& plan, const CallRecord& at) const;
  [[nodiscard]] bool is_of_child(const CallReturn& returned) {
    return returned.ret == 0 && kinds_.of(returned.abi, returned.nr) == CallKind::makes_thread;
  }

  [[nodiscard]] bool is_sigreturn(const Call& call) {
    return kinds_.of(call.abi, call.nr) == CallKind::sigreturn;
  }
  // Is it the return of this call, if it is of the same thread?
  [[nodiscard]] bool is_end_of(const Call& call, const CallReturn& returned);
  // See CallReturn::is_result.
  [[nodiscard]] bool has_result(const Thread& thread, const CallReturn& returned);
  // Was the thread there when its last call began? Another one may have had the same id.
  [[nodiscard]] static bool is_same_thread(const Thread& thread, const CallReturn& returned);

  void on_enter(const Plan& plan, const CallRecord& at);
  void on_exit(const Plan& plan, CallRecord at);
  void on_completed(const Plan& plan, CallRecord at);
  void give_completed(Thread& thread, const Plan& plan, const CallReturn& returned);
  void on_exec(const Plan& plan, RecordView record);
  void on_thread_end(RecordView record);
  void make_room(uint64_t ts);
  // Ends the call of a thread, if it has one.
  void end(uint32_t tid, CallEnd how, uint64_t ts);
  void end(uint32_t tid, Thread& thread, CallEnd how, uint64_t ts,
           const CallReturn* returned = nullptr);
  void give(const CallInterval& interval) {
    note(interval.met());
    for (CallSink* sink : sinks_) sink->on_end(interval);
  }

  size_t max_threads_;
  std::vector<CallSink*> sinks_;
  std::vector<Source> sources_;
  std::optional<TraceConfig> config_;
  CallKinds kinds_;
  std::unordered_map<uint32_t, Thread> threads_;  // in a call, or between two
  Continuity continuity_;
  uint64_t lost_ = 0;
  bool beginnings_missed_ = false;
  bool completed_ = false;  // calls may come as sys_completed
};

}  // namespace ktraced
