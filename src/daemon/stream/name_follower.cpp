// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/stream/name_follower.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "trace/packet/packet.h"

namespace ktraced {
namespace {

// How much later a name can be stored than the time that it has: a program may be preempted.
constexpr uint64_t kStoredLateNs = RENAME_TAKES_NS;

uint64_t a_little_before(uint64_t ns) { return ns - std::min(ns, kStoredLateNs); }

}  // namespace

Result<NameFollower> NameFollower::open(const BpfObject& object, const Counters& counters,
                                        const KernelNames& names) {
  auto ring = RingReader::open(Fd(::dup(object.map_fd("metadata_records"))),
                               object.map_capacity("metadata_records"));
  if (!ring) return propagate(ring);
  return NameFollower(std::move(*ring), counters, names);
}

void NameFollower::begin(bool with_left) {
  taken_ns_ = boottime_ns();
  dropped_ = counters_->names_dropped();
  if (with_left)
    begin_with_left();
  else
    ring_.release(ring_.produced());
}

// While no daemon reads, only a ring that is full drops records: all of them came after the oldest
// one that is left.
void NameFollower::begin_with_left() {
  std::optional<uint64_t> oldest;
  const uint64_t until = ring_.produced();
  if (ring_.consumed() == until) return;
  ring_.read(ring_.consumed(), until, [&](uint64_t, auto bytes) {
    const RecordView record(bytes.data());
    if (!oldest && record.id() == METADATA_task) oldest = record.ts();
  });
  taken_ns_ = std::min(taken_ns_, oldest.value_or(taken_ns_));
  dropped_ = 0;
}

// A change that is too late for one call is in the next one. The history of changes has more room
// than the ring, but no caches and no control groups.
NameChanges NameFollower::take() {
  const uint64_t now = boottime_ns();
  NameChanges changes{.window = {.from = std::exchange(taken_ns_, now), .until = now}};
  const uint64_t from = changes.window.from;
  const uint64_t dropped = counters_->names_dropped();
  changes.behind = std::exchange(dropped_, dropped) != dropped;
  auto& records = changes.records;
  earn(now - from);
  const uint64_t produced = ring_.produced();
  changes.lost = produced - ring_.consumed() > budget_;
  if (changes.lost)
    ring_.release(produced);
  else
    ring_.release(ring_.read(ring_.consumed(), produced, [&](uint64_t, auto bytes) {
      records.insert(records.end(), bytes.begin(), bytes.end());
    }));
  if (changes.behind && !changes.lost) {
    const auto history = names_->changes(a_little_before(from));
    changes.lost = history.complete_since > from;
    records.insert(records.end(), history.records.begin(), history.records.end());
  }
  if (!changes.lost && pay(records.size())) return changes;
  changes.lost = changes.behind = true;
  records.clear();
  return changes;
}

void NameFollower::earn(uint64_t elapsed_ns) {
  constexpr uint64_t kSecondNs = 1'000'000'000;
  const uint64_t earned = std::min(elapsed_ns, kSecondNs) * kBytesPerSecond / kSecondNs;
  budget_ = std::min(kBytesPerSecond, budget_ + earned);
}

// False: the budget does not suffice, and is kept.
bool NameFollower::pay(size_t bytes) {
  if (bytes > budget_) return false;
  budget_ -= bytes;
  return true;
}

std::vector<std::byte> NameFollower::last_since(uint64_t ns) const {
  return names_->all(a_little_before(ns));
}

}  // namespace ktraced
