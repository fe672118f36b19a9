// SPDX-License-Identifier: BSD-2-Clause
// What was counted at which stacks, by their numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "analysis/coverage/actor.h"
#include "analysis/coverage/identities.h"
#include "analysis/coverage/limited_rows.h"
#include "trace/metadata/name_table.h"
#include "trace/metadata/stack_table.h"
#include "trace/packet/packet.h"

namespace ktraced {

// What was counted at a stack.
struct StackWeight {
  uint64_t count = 0;  // of events
  uint64_t ns = 0;
  uint64_t bytes = 0;
  uint64_t longest_ns = 0;
  uint64_t longest_ts = 0;  // when that began, ns, CLOCK_BOOTTIME

  // One event that took `ns` from `ts` on.
  static StackWeight of_time(uint64_t ns, uint64_t ts) {
    return {.count = 1, .ns = ns, .longest_ns = ns, .longest_ts = ts};
  }
  StackWeight& operator+=(const StackWeight& other);
};

// Who has the stacks that are summed up.
enum class StacksBy : uint8_t { process, thread, cgroup };

// A process; or, as it is asked for, a thread or a control group.
struct StackOwner : ActorRow {
  uint32_t tid = 0;            // of a thread, which `comm` and `start_ns` are of too
  std::string cgroup;          // path of a control group; empty: unknown
  uint64_t cgroup_id = 0;      // 0: unknown
  bool kernel_thread = false;  // only samples say that
  bool others = false;         // all after the table was full
};

// Stacks, and whose they are.
struct StackPlace {
  uint32_t owner = 0;  // index in StackSums::owners()
  // Of the user stack: its process, and since when that has its name, ns; another program may have
  // the same addresses. 0: unknown, or there is no user stack.
  uint32_t pid = 0;
  uint64_t program = 0;
  uint64_t start_ns = 0;          // of that process; 0: unknown
  uint64_t kernel = 0, user = 0;  // numbers; 0: none
  bool operator==(const StackPlace&) const = default;
};

// The stacks of this process, or thread; without an owner.
[[nodiscard]] StackPlace place_of(const Actor& actor, const stack_numbers& stacks);

// What is counted together.
struct StackKey {
  StackPlace at;
  StackPlace waker;   // of waits; its `owner` is kNobody if the waker is not known
  uint32_t what = 0;  // as the analysis has it
  bool operator==(const StackKey&) const = default;

  static constexpr uint32_t kNobody = UINT32_MAX;
};

struct StackRow {
  StackKey key;
  uint64_t ts = 0;  // of its first event
  uint64_t waker_ts = 0;
  StackWeight weight;
  bool others = false;  // all keys after the table was full
};

// One of the events that a row counts.
struct StackPoint {
  uint64_t ts = 0;  // its beginning, ns, CLOCK_BOOTTIME
  uint64_t ns = 0;
  uint32_t row = 0;
  uint32_t cpu = 0;
};

}  // namespace ktraced

template <>
struct std::hash<ktraced::StackKey> {
  size_t operator()(const ktraced::StackKey& key) const noexcept;
};

namespace ktraced {

// Sums by the numbers of stacks, which are names only at the end: a stack may come after the events
// that have it. Memory: about 200 bytes for each of at most `max_rows` rows and kMaxOwners owners.
class StackSums {
 public:
  static constexpr size_t kMaxRows = 262144;
  static constexpr size_t kMaxOwners = 65536;

  explicit StackSums(StacksBy by, size_t max_rows = kMaxRows)
      : by_(by), actors_(kMaxOwners), threads_(kMaxOwners), rows_(max_rows) {}

  // The stacks of thread `tid` at `ts`.
  StackPlace place_of(uint32_t tid, uint64_t ts, const NameTable& names,
                      const stack_numbers& stacks);
  StackPlace place_of(RecordView record, const NameTable& names) {
    return place_of(record.tid(), record.ts(), names, record.stacks());
  }
  // The index of the row of this key, which an event at `ts` has; `waker_ts`: of the waker's
  // stacks.
  uint32_t row_of(const StackKey& key, uint64_t ts, uint64_t waker_ts = 0);
  StackRow& operator[](uint32_t row) { return rows_[row]; }
  void note_kernel_thread(uint32_t owner) { owners_[owner].kernel_thread = true; }

  // Also keeps the first `max` events one by one.
  void keep_points(size_t max) { max_points_ = max; }
  // Counts an event of this row.
  void add(const StackPoint& point, const StackWeight& weight);
  [[nodiscard]] const std::vector<StackPoint>& points() const { return points_; }

  // May `table` not have all that these stacks need? What files the frames of processes are in may
  // be said before the first event.
  [[nodiscard]] bool may_lack(const StackTable& table) const;

  [[nodiscard]] StacksBy by() const { return by_; }
  [[nodiscard]] const std::vector<StackRow>& rows() const { return rows_.rows(); }
  [[nodiscard]] const std::vector<StackOwner>& owners() const { return owners_.rows(); }

 private:
  uint32_t owner_of(uint32_t tid, uint64_t ts, const Actor& actor, const NameTable& names);
  uint32_t owner_at(std::optional<uint64_t> key);

  StacksBy by_;
  ActorNumbers actors_;
  Identities threads_;
  LimitedRows<StackOwner> owners_{kMaxOwners};
  LimitedRows<StackRow, StackKey> rows_;
  size_t max_points_ = 0;
  std::vector<StackPoint> points_;
};

}  // namespace ktraced
