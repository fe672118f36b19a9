// SPDX-License-Identifier: BSD-2-Clause
// Allocations by call site, cache, size, task, flags and node, and those not freed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/coverage/actor.h"
#include "analysis/coverage/limited_rows.h"
#include "analysis/reports/kmem_call.h"
#include "analysis/stacks/stack_sums.h"

namespace ktraced {

// The allocations of one group.
struct KmemUse {
  uint64_t allocs = 0;    // that succeeded
  uint64_t first_ns = 0;  // time of the first allocation
  uint64_t failed = 0;
  uint64_t bytes_req = 0;        // of allocations that succeeded
  uint64_t bytes_alloc = 0;      // given to them; what is above bytes_req is internal fragmentation
  uint64_t freed = 0;            // in the window
  uint64_t freed_elsewhere = 0;  // among `freed`: on another CPU
  uint64_t freed_unseen = 0;     // address allocated again without a free event in between
  // Allocations that were not freed up to the end of the window, as far as known.
  uint64_t held = 0;
  uint64_t held_bytes = 0;
  uint64_t oldest_ns = 0;  // how long the oldest one was held up to then
  // The held allocations whose free event may be missing in the trace.
  uint64_t uncertain = 0;
  uint64_t uncertain_bytes = 0;
  // Allocations that succeeded in an interrupt. Nothing if the trace has no contexts.
  std::optional<uint64_t> in_interrupt;

  [[nodiscard]] uint64_t waste() const { return bytes_alloc - std::min(bytes_alloc, bytes_req); }
};

// How allocations are grouped.
enum class KmemGroup : uint8_t {
  call_site,
  cache,
  size,
  task,
  order,
  task_site,
  gfp_flags,
  node,
  stacks
};
inline constexpr size_t kKmemGroups = 9;

// A group of allocations. The meaning of `key` depends on the group: an address, the key of a
// cache's name, bytes allocated by kmalloc(), the number of an actor (analysis/coverage/actor.h),
// an order, a KmemTaskSite, GFP flags, a KmemNode, the number of a StackRow.
struct KmemRow {
  uint64_t key = 0;
  KmemType type = KmemType::kmalloc;
  std::string name;        // of a cache, process or GFP flags, if known
  uint32_t actor = 0;      // the pid of a process, or the id of a thread: see `is_thread`
  bool is_thread = false;  // `actor` is the id of a thread whose process is not known
  uint64_t start_ns = 0;   // of the process, CLOCK_BOOTTIME; 0: unknown
  bool unnamed = false;    // the event does not name the cache: `key` is the object size
  bool others = false;     // all groups after the table was full
  KmemUse use;
};

// A process and a call site: the indices of their rows.
struct KmemTaskSite {
  uint32_t task = 0;
  uint32_t call_site = 0;

  [[nodiscard]] uint64_t key() const { return uint64_t{task} << 32 | call_site; }
  static KmemTaskSite of(uint64_t key) {
    return {.task = static_cast<uint32_t>(key >> 32), .call_site = static_cast<uint32_t>(key)};
  }
};

// The NUMA node of memory, and the one that was requested; -1: unknown, any.
struct KmemNode {
  int32_t page_node = -1;
  int32_t requested = -1;

  [[nodiscard]] uint64_t key() const {
    return uint64_t{static_cast<uint16_t>(page_node)} << 16 | static_cast<uint16_t>(requested);
  }
  static KmemNode of(uint64_t key) {
    return {.page_node = static_cast<int16_t>(key >> 16),
            .requested = static_cast<int16_t>(key & UINT16_MAX)};
  }
};

// Frees that match no allocation of the trace.
struct KmemFrees {
  uint64_t seen = 0;     // all, except for those of NULL
  uint64_t unknown = 0;  // allocated before the window, or the allocation is missing
  uint64_t nothing = 0;  // kfree(NULL)
};

// What became of an allocation.
enum class AllocationEnd : uint8_t {
  freed,
  unseen,  // its address was allocated again
  held,    // it was not freed up to the end of the window
};

// Receives the selected allocations from a KmemAnalysis.
class KmemSink {
 public:
  struct End {
    uint64_t ptr = 0;
    AllocationEnd how = AllocationEnd::freed;
    uint64_t ts = 0;
    uint32_t cpu = 0;  // that freed it
    // If freed, it may have been a later allocation; if held, its free may be missing.
    bool uncertain = false;
  };

  virtual ~KmemSink() = default;
  // `followed`: on_end() will be called with call.ptr. False if the allocation failed, or if too
  // many are held.
  virtual void on_alloc(const RecordOrigin& from, RecordView record, const KmemCall& call,
                        bool followed) = 0;
  virtual void on_end(const End& end) = 0;
};

// Reads allocations and frees in time order. An allocation is selected by its own event; any
// task may free it. `frees` counts the selected events. Memory: 80 bytes for each held allocation,
// at most kMaxHeld of them, and at most kMaxRows rows in each table and one of all others.
class KmemAnalysis : public Analysis {
 public:
  static constexpr size_t kMaxHeld = 2'000'000;
  static constexpr size_t kMaxRows = 65536;

  explicit KmemAnalysis(size_t max_held = kMaxHeld) : max_held_(max_held) {}

  // `sink` must outlive finish().
  void set_sink(KmemSink& sink) { sink_ = &sink; }
  // Groups allocations by their stacks too: `stacks`, which must outlive the last event, gets a row
  // without a weight for each. Call it before the first event.
  void set_stacks(StackSums& stacks) { stacks_ = &stacks; }

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  void on_config_change(uint64_t ts, const TraceConfig& config) override;
  // Call after the last record; the window ends at `end_ns`. Frees of allocations before
  // `sure_since_ns` may be missing; UINT64_MAX: those of any allocation.
  void finish(uint64_t end_ns, uint64_t sure_since_ns);

  [[nodiscard]] const std::vector<KmemRow>& rows(KmemGroup group) const {
    return tables_[static_cast<size_t>(group)].rows();
  }
  [[nodiscard]] const KmemUse& total(KmemType type) const { return totals_[index(type)]; }
  [[nodiscard]] const KmemFrees& frees(KmemType type) const { return frees_[index(type)]; }
  // The number of held allocations younger than 1 µs, 10 µs … 1000 s, and older.
  static constexpr size_t kAges = 11;
  [[nodiscard]] const std::array<uint64_t, kAges>& ages() const { return ages_; }
  [[nodiscard]] uint64_t lost_allocs() const { return lost_allocs_; }
  [[nodiscard]] uint64_t lost_frees() const { return lost_frees_; }
  // Allocations that were not tracked, because too many were held.
  [[nodiscard]] uint64_t not_followed() const { return not_followed_; }

 private:
  struct Source {
    KmemReader reader;
    const Schema* schema;
    const NameTable* names;
  };
  using Table = LimitedRows<KmemRow>;
  struct Held {
    uint64_t ts;
    uint64_t bytes_alloc;
    std::array<uint32_t, kKmemGroups> rows;  // kNone: not in that table
    uint16_t cpu;
    KmemType type;
    bool selected;  // else it is followed only until its free
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kTypes = 3;

  static size_t index(KmemType type) { return static_cast<size_t>(type); }
  // Pages and slab objects belong to different allocators.
  static size_t kind(KmemType type) { return type == KmemType::pages ? 1 : 0; }

  void on_alloc(const RecordOrigin& from, RecordView record, const KmemCall& call);
  void on_free(const RecordOrigin& from, RecordView record, const KmemCall& call);
  Held held_of(const RecordOrigin& from, RecordView record, const KmemCall& call);
  Table& table(KmemGroup group) { return tables_[static_cast<size_t>(group)]; }
  uint32_t row_of(KmemGroup group, uint64_t key, KmemType type);
  uint32_t cache_row(const KmemCall& call, const NameTable& names);
  uint32_t task_row(const RecordOrigin& from, RecordView record);
  uint32_t task_site_row(const KmemTaskSite& of, KmemType type);
  uint32_t flags_row(const KmemCall& call, const Schema& schema);
  // False if too many are held.
  bool hold(uint64_t ptr, const Held& held);
  void give_end(const Held& held, const KmemSink::End& end) {
    if (sink_ != nullptr && held.selected) sink_->on_end(end);
  }
  template <class Change>
  void change(const Held& held, Change&& change);
  void end_loss(uint32_t cpu, uint64_t ts);

  size_t max_held_;
  KmemSink* sink_ = nullptr;
  StackSums* stacks_ = nullptr;
  std::vector<Source> sources_;
  ActorNumbers actors_{kMaxRows};
  std::vector<Table> tables_ = std::vector<Table>(kKmemGroups, Table(kMaxRows));  // by KmemGroup
  std::array<KmemUse, kTypes> totals_;
  std::array<KmemFrees, kTypes> frees_;
  std::unordered_map<uint64_t, Held> held_;  // by address
  std::array<uint64_t, kAges> ages_{};
  uint64_t lost_allocs_ = 0, lost_frees_ = 0, not_followed_ = 0;
  std::optional<TraceConfig> config_;
  // By kind: the time until which frees may be missing, and the CPUs that are losing events.
  std::array<uint64_t, 2> frees_lost_until_{};
  std::unordered_map<uint32_t, std::array<bool, 2>> losing_;
};

}  // namespace ktraced
