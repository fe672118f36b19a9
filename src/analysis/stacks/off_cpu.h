// SPDX-License-Identifier: BSD-2-Clause
// Where threads sleep, and who wakes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/coverage/event_table.h"
#include "analysis/intervals/continuity.h"
#include "analysis/intervals/run_tracker.h"
#include "analysis/stacks/stack_sums.h"

namespace ktraced {

// How a thread sleeps, by its state at the switch from it: "interruptible", "uninterruptible",
// "idle" (a kernel worker without work), "stopped", "traced", "parked" or "other".
[[nodiscard]] std::string_view kind_of_sleep(uint32_t state);

// Sleeps of one kind.
struct SleepSums {
  StackWeight ended;
  uint64_t open = 0;             // that had not ended at the end of the trace
  uint64_t longest_open_ns = 0;  // what is known of the longest of them
};

// Measures sleeps: from the switch from a thread that could not go on to the switch to it, by
// sched_switch. The waker is the thread of the sched_waking in between. A sleep across a loss of
// switches is not counted, and is selected by the switch that ends it. The state is
// StackKey::what. Memory: at most `max_sleeping` threads, 200 bytes each, and StackSums.
class OffCpuAnalysis : public Analysis, public RunSink {
 public:
  static constexpr size_t kMaxSleeping = 262144;

  explicit OffCpuAnalysis(StacksBy by, size_t max_sleeping = kMaxSleeping)
      : max_sleeping_(max_sleeping), sums_(by) {
    runs_.add_sink(*this);
  }
  OffCpuAnalysis(const OffCpuAnalysis&) = delete;
  OffCpuAnalysis& operator=(const OffCpuAnalysis&) = delete;

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  void on_config_change(uint64_t ts, const TraceConfig& config) override;
  void set_selector(const RecordSelector& selector) override;
  void on_run(const RunInterval& /*interval*/) override {}
  void on_switch(const Switch& what) override;
  // Call after the last record.
  void finish(uint64_t end_ns);

  // See StackSums::keep_points().
  void keep_points(size_t max) { sums_.keep_points(max); }
  [[nodiscard]] const StackSums& sums() const { return sums_; }
  // By kind_of_sleep().
  [[nodiscard]] const std::map<std::string_view, SleepSums>& kinds() const { return kinds_; }
  [[nodiscard]] uint64_t lost() const { return lost_; }
  // Sleeps that are not counted, because something is missing in them.
  [[nodiscard]] uint64_t uncertain() const { return uncertain_; }
  // Threads that were evicted, because too many slept.
  [[nodiscard]] uint64_t not_followed() const { return not_followed_; }

 private:
  struct Plan {
    enum class Kind : uint8_t { other, switched, waking } kind = Kind::other;
    std::optional<Field> pid;
  };
  struct Source {
    EventTable<Plan> plans;
    const NameTable* names;
  };
  struct Sleep {
    uint64_t since = 0;
    uint64_t gaps = 0;  // continuity_.now() when it began
    StackKey key;
    uint64_t woken_ns = 0;  // 0: no sched_waking yet
    uint32_t cpu = 0;       // from which it was switched
    bool selected = true;
  };
  void begin(const Switch& what);
  void end(const Switch& what, const Sleep& sleep);

  size_t max_sleeping_;
  RunTracker runs_;
  std::vector<Source> sources_;
  std::optional<TraceConfig> config_;
  Continuity continuity_;
  std::unordered_map<uint32_t, Sleep> sleeping_;  // by thread
  StackSums sums_;
  std::map<std::string_view, SleepSums> kinds_;
  uint64_t lost_ = 0, uncertain_ = 0, not_followed_ = 0;
};

}  // namespace ktraced
