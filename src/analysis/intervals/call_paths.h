// SPDX-License-Identifier: BSD-2-Clause
// Joins system calls with the paths that they got.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/coverage/actor.h"
#include "analysis/coverage/event_table.h"
#include "analysis/intervals/call_tracker.h"
#include "schema/path_arguments.h"

namespace ktraced {

// A path, as the call got it.
struct CallPath {
  uint32_t arg = 0;
  uint64_t pointer = 0;  // 0: the call got none
  PathRole role = PathRole::path;
  bool cut = false, unreadable = false;
  std::string text;                  // any bytes except NUL
  std::optional<int32_t> directory;  // descriptor that a relative path is from; none: no argument

  // True if the call is about the descriptor itself, or about nothing.
  [[nodiscard]] bool names_nothing() const;
  // The directory that the path is relative to: a descriptor, AT_FDCWD for the working directory;
  // nothing if the path is not relative to one, or not known.
  [[nodiscard]] std::optional<int32_t> relative_to() const;
};

// A call with paths that has returned.
struct PathCall {
  uint32_t abi = 0;
  int32_t nr = 0;
  uint32_t tid = 0;
  uint32_t cpu = 0;  // on which it returned
  uint64_t begin_ns = 0, end_ns = 0;
  int64_t ret = 0;
  Unknown unknown = Unknown::none;   // why its duration and result are not known
  std::vector<CallPath> paths;       // in the order of their events
  MetConditions met = 0;             // by its events
  const NameTable* names = nullptr;  // of its source

  [[nodiscard]] bool known() const { return unknown == Unknown::none; }
  [[nodiscard]] Actor actor() const {
    return actor_of(tid, end_ns, names->task_at(tid, end_ns), *names);
  }
};

// Receives the selected calls of a CallPaths.
class PathCallSink {
 public:
  virtual ~PathCallSink() = default;
  virtual void on_path_call(const PathCall& call) = 0;
};

// Selected calls that get paths, of which something is not in the trace.
struct PathCallGaps {
  uint64_t running = 0;       // had not returned at the end
  uint64_t killed = 0;        // their thread was ended in them
  uint64_t begun_before = 0;  // returned, but their beginning is missing
  uint64_t end_unseen = 0;    // their end is missing although their thread went on
  uint64_t not_followed = 0;  // evicted, because too many were running
  uint64_t path_unseen = 0;   // returned, but their paths are missing
  uint64_t call_unseen = 0;   // paths whose call is missing
};

// Pairs the strings of calls (sys_enter_string, sys_exit_string) with their sys_enter and sys_exit,
// or with their sys_completed, which comes after the strings.
// A string belongs to a call of its thread if the call's argument has the string's address. It may
// come before the sys_enter, or after the sys_exit. Nothing is joined across a loss or a config
// change. Memory: `max_threads` threads, each with the paths of its call (up to 300 bytes each).
class CallPaths : public Analysis, private CallSink {
 public:
  static constexpr size_t kMaxThreads = 65536;

  // `sink` must outlive the last event.
  explicit CallPaths(PathCallSink& sink, size_t max_threads = kMaxThreads)
      : sink_(sink), max_threads_(max_threads), calls_(max_threads) {
    calls_.add_sink(*this);
  }
  CallPaths(const CallPaths&) = delete;
  CallPaths& operator=(const CallPaths&) = delete;

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  void on_config_change(uint64_t ts, const TraceConfig& config) override;
  void set_selector(const RecordSelector& selector) override;
  // Call after the last record.
  void finish(uint64_t end_ns);

  // May a call still be given to the sink that began at `ns` or earlier?
  [[nodiscard]] bool is_open(uint64_t ns) const;
  [[nodiscard]] const PathCallGaps& gaps() const { return gaps_; }
  // Beginnings, ends and strings of calls that were lost.
  [[nodiscard]] uint64_t lost() const { return calls_.lost() + lost_strings_; }

 private:
  struct Plan {
    enum class Kind : uint8_t { other, enter, exit } kind = Kind::other;
    std::optional<Field> nr, abi, arg, pointer, cut, unreadable, text;
  };
  struct Source {
    EventTable<Plan> plans;
    const NameTable* names;
  };
  // Paths of one call.
  struct Paths {
    uint32_t abi = 0;
    int32_t nr = 0;
    MetConditions met = 0;
    std::vector<CallPath> list;
    uint64_t since = 0;  // interruptions_ when the first one came

    [[nodiscard]] bool is_of(uint32_t its_abi, int32_t its_nr) const {
      return abi == its_abi && nr == its_nr;
    }
    CallPath* find(uint32_t arg);
  };
  struct Thread {
    bool in_call = false;
    std::array<uint64_t, 6> args{};  // of its call
    Paths paths;                     // of its call
    Paths early;                     // before the sys_enter of their call
    std::optional<PathCall> ended;   // waits for strings that could not be read as it began

    [[nodiscard]] bool is_idle() const { return !in_call && early.list.empty() && !ended; }
  };
  static Plan plan_of(const Event& event);
  // False: the sys_enter of paths that came before may be missing, and the next one may be of
  // another call.
  [[nodiscard]] bool is_current(const Paths& early) const { return early.since == interruptions_; }

  void on_begin(const Call& call, const CallRecord& at, Unknown unknown) override;
  void on_end(const CallInterval& interval) override;
  void on_interrupt(uint64_t /*ts*/, Unknown /*why*/) override { ++interruptions_; }
  void on_new_id(uint32_t from, uint32_t to, uint64_t ts) override;

  void on_string(const Plan& plan, const RecordOrigin& from, RecordView record);
  void add_path(Thread& thread, CallPath path, const Paths& of);
  void read_again(Thread& thread, const CallPath& path, const Paths& of) const;
  void on_return(Thread* thread, const CallInterval& interval, MetConditions met);
  void count_gap(CallEnd end);
  static void add_to_call(Thread& thread, CallPath path, PathArgument argument);
  void deliver(PathCall call);
  void deliver_ended(Thread& thread);
  void drop_early(Thread& thread);
  void settle_threads();

  PathCallSink& sink_;
  size_t max_threads_;
  CallTracker calls_;
  PathArguments arguments_;
  std::vector<Source> sources_;
  std::optional<TraceConfig> config_;
  std::unordered_map<uint32_t, Thread> threads_;
  PathCallGaps gaps_;
  uint64_t lost_strings_ = 0, interruptions_ = 0;
};

}  // namespace ktraced
