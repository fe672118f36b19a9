// SPDX-License-Identifier: BSD-2-Clause
// Who wakes certain threads, and what they wait for then.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/coverage/event_table.h"
#include "analysis/coverage/identities.h"
#include "analysis/coverage/limited_rows.h"
#include "analysis/reports/histogram.h"
#include "analysis/reports/longest.h"
#include "analysis/reports/sched_analysis.h"

namespace ktraced {

// A thread that wakes others, by itself or in soft interrupts; or the hard interrupts or NMIs of a
// CPU. `tid` 0 without `interrupt`: an interrupt of an idle CPU, in a trace without contexts.
struct WakerRow {
  std::string_view interrupt;   // its context_name(): "hardirq", "softirq" or "nmi"; empty: none
  std::optional<uint32_t> cpu;  // of hard interrupts and NMIs, which have no thread
  uint32_t tid = 0;
  uint32_t pid = 0;       // its process; 0: unknown
  uint64_t start_ns = 0;  // of the thread; 0: unknown
  std::string comm;
  bool known = true;      // false: the wake-ups of which the trace does not have the waker
  bool others = false;    // all threads after the table was full
  uint64_t count = 0;     // wake-ups
  uint64_t first_ns = 0;  // time of the first wake-up
  Histogram delay;        // from wake-ups to running
};

// A thread that ran while others waited for its CPU.
struct InsteadRow {
  uint32_t tid = 0;  // 0: the CPU was idle
  std::string comm;
  uint64_t waits = 0;
  uint64_t ns = 0;
};

// The wake-ups of one thread by another.
struct WakeupPair {
  uint32_t waker = 0;   // index in wakers()
  uint32_t tid = 0;     // of the woken thread
  std::string comm;     // its last name
  bool others = false;  // all pairs after the table was full
  uint64_t count = 0;
  uint64_t ns = 0;      // delays together
  uint64_t max_ns = 0;  // the longest delay
  uint64_t max_at = 0;  // when it began, in ns
};

// A long wait for a CPU.
struct LongWait {
  uint64_t begin_ns = 0;
  uint64_t ns = 0;
  uint32_t cpu = 0;  // the CPU on which it ran then
  uint32_t tid = 0;
  std::string comm;
  std::optional<uint32_t> waker;      // index in wakers(); nothing: it was preempted
  std::optional<InsteadRow> instead;  // what ran longest on the CPU; nothing: unknown
};

// Takes the waits of a SchedAnalysis. A waker is the thread or interrupt that ran on the CPU of a
// sched_waking or sched_wakeup_new; without these, of a sched_wakeup, which may be on another CPU
// than the waker. In a trace without contexts, it is always the thread. Memory: as SchedAnalysis,
// and at most kMaxRows waking threads, each with a row for its soft interrupts, and as many other
// interrupts, pairs and threads that ran instead.
class WakeupAnalysis : public Analysis, public WaitSink {
 public:
  static constexpr size_t kMaxRows = 8192;
  // Is a thread one of those that the report is about? `task`: null if unknown.
  using IsTarget = std::function<bool(uint32_t tid, const TaskName* task)>;

  // Keeps the `longest` longest waits.
  WakeupAnalysis(IsTarget is_target, size_t longest);
  WakeupAnalysis(const WakeupAnalysis&) = delete;
  WakeupAnalysis& operator=(const WakeupAnalysis&) = delete;

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override { sched_.on_loss(loss); }
  void on_config_change(uint64_t ts, const TraceConfig& config) override {
    sched_.on_config_change(ts, config);
    woken_.clear();
  }
  void set_selector(const RecordSelector& selector) override { sched_.set_selector(selector); }
  void on_wait(const WaitInterval& interval) override;
  // Call after the last record.
  void finish(uint64_t end_ns) { sched_.finish(end_ns); }

  [[nodiscard]] const std::vector<WakerRow>& wakers() const { return wakers_; }
  // Who woke whom, in the order of the first wake-ups.
  [[nodiscard]] const std::vector<WakeupPair>& pairs() const { return pairs_.rows(); }
  // What ran during all waits together, by thread id.
  [[nodiscard]] const std::map<uint32_t, InsteadRow>& instead() const { return instead_; }
  // Time of the waits in which it is not known what ran on the CPU; ns.
  [[nodiscard]] uint64_t unknown_ns() const { return unknown_ns_; }
  [[nodiscard]] std::vector<LongWait> longest() const { return longest_.sorted(); }
  // From wake-ups to running.
  [[nodiscard]] const Histogram& delays() const { return delays_; }
  // Waits after a preemption: their times.
  [[nodiscard]] const Histogram& preemptions() const { return preemptions_; }
  // The names of all threads that any source knows, sorted; nothing if one of them is a target,
  // woken or not.
  [[nodiscard]] std::optional<std::set<std::string>> names_without_target() const;
  // Threads that were found, by id.
  [[nodiscard]] const std::map<uint32_t, std::string>& targets() const { return targets_; }
  // Waits that are not counted, because events in between are missing.
  [[nodiscard]] uint64_t uncertain() const { return uncertain_; }
  [[nodiscard]] uint64_t lost() const { return sched_.lost(); }
  // True if wakers were taken from sched_wakeup.
  [[nodiscard]] bool wakers_are_guessed() const { return guessed_; }

 private:
  struct Plan {
    enum class Kind : uint8_t { other, waking, woken, created } kind = Kind::other;
    std::optional<Field> pid;
  };
  struct Source {
    EventTable<Plan> plans;
    const NameTable* names;
  };
  struct WokenBy {
    uint64_t ts = 0;  // of the wake-up
    uint32_t row = 0;
    bool exact = false;  // the waker is the thread that began the wake-up
  };
  // A woken thread. One that waits may be woken again: only its first wake-up begins the wait.
  struct Woken {
    std::optional<WokenBy> waking;  // has begun, its wake-up is to come
    std::optional<WokenBy> first, last;
  };
  void on_woken(Plan::Kind kind, uint32_t tid, uint32_t cpu, RecordView record,
                const NameTable& names);
  std::optional<WokenBy> waker_of(uint32_t tid, uint64_t woken_ns);
  uint32_t row_of_waker(uint32_t cpu, RecordView record, const NameTable& names);
  uint32_t row_of_thread(RecordView record, const NameTable& names);
  uint32_t row_of_interrupt(std::string_view interrupt, uint32_t cpu);
  uint32_t row_of_others();
  uint32_t row_of_unknown_waker();
  void count_delay(uint32_t waker, const WaitInterval& interval, uint64_t ns);
  std::optional<InsteadRow> count_instead(const WaitInterval& interval);

  IsTarget is_target_;
  SchedAnalysis sched_{0};
  std::vector<Source> sources_;
  std::unordered_map<uint32_t, Woken> woken_;  // threads that the report is about, by id
  Identities identities_{kMaxRows};
  std::map<std::pair<uint32_t, bool>, uint32_t>
      row_of_identity_;  // of a thread; in soft interrupts?
  std::map<std::pair<std::string_view, uint32_t>, uint32_t> row_of_interrupt_;  // by kind and CPU
  std::vector<WakerRow> wakers_;
  LimitedRows<WakeupPair> pairs_{kMaxRows};
  std::optional<uint32_t> others_, unknown_;  // rows
  std::map<uint32_t, InsteadRow> instead_;
  std::map<uint32_t, std::string> targets_;
  Longest<LongWait> longest_;
  Histogram delays_, preemptions_;
  uint64_t unknown_ns_ = 0, uncertain_ = 0;
  bool guessed_ = false;
};

}  // namespace ktraced
