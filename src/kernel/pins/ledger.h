// SPDX-License-Identifier: BSD-2-Clause
// What a daemon notes for the next one, in one pinned map.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/mapping.h"
#include "bpf/shared_state.h"
#include "kernel/pins/pins.h"

namespace ktraced {

// A daemon may be killed between two stores, so they must keep their order.
inline void store_in_order(uint64_t& value, uint64_t now) {
  std::atomic_ref(value).store(now, std::memory_order_release);
}

// Numbers of hits by event id.
using LedgerCounts = std::array<uint64_t, EVENT_ID_MAX>;

// The trace config and its changes. Positions count bytes since the log began; one lies at
// data[position % data.size()].
struct ConfigLog {
  uint64_t head;            // end of the newest entry
  uint64_t tail;            // the oldest entry
  uint64_t known_since_ns;  // the trace config before this is unknown; 0: all is known
  uint64_t changing;        // 1: the kernel is being changed
  std::array<std::byte, 4064> unused;
  std::array<std::byte, (1U << 20) - 4096> data;
};

// The missed hits of one event in one session.
struct SessionMissesEntry {
  uint64_t counted;  // while the session had the event on, up to `before`
  uint64_t before;   // the program's count at that time
  uint64_t on;       // 1: the session has the event on since then
};

// A bank of the flight recorder.
struct BankEntry {
  uint64_t begin;                // when it became active; ns, CLOCK_BOOTTIME
  uint64_t end;                  // when it became inactive; 0: not stored yet
  char name[256];                // trace that it is being saved to, NUL-terminated
  LedgerCounts missed_at_begin;  // hits missed until then
  LedgerCounts missed_at_end;    // stored before `end` is
};

// What of stream.output is in traces.
struct StreamEntry {
  uint64_t active;  // 0: nothing is written; 1 or 2: index of the trace, plus 1
  std::array<std::array<char, 4096>, 2> traces;
};
struct StreamCpuEntry {
  // One of two copies: while one is written, the other is valid. The valid one has the position of
  // the ring.
  struct Slot {
    uint64_t position;
    LedgerCounts counts;
  };
  std::array<Slot, 2> slots;
  std::array<LedgerCounts, 2> written;  // as of StreamEntry::traces
};

// Memory that outlives the daemon, beside the programs that count. All of it is zero at first. A
// daemon may be killed between any two stores: those who write here choose their order so that the
// next daemon finds no less than was missed or lost.
class Ledger {
 public:
  // With `pins` it outlives the daemon. Never fails: without a map it is memory of this process.
  static Ledger open(const Pins* pins, uint32_t cpus, uint32_t banks);

  // An earlier daemon wrote it.
  [[nodiscard]] bool adopted() const { return adopted_; }

  [[nodiscard]] ConfigLog& configs() const { return fixed().configs; }
  // Hits missed at programs and links that are no more: the kernel's count ends with them. Add to
  // it before closing them. A daemon that ends in between leaves hits that are counted twice, but
  // never loses any.
  [[nodiscard]] LedgerCounts& retired_misses() const { return fixed().retired_misses; }
  // By session, EVENT_ID_MAX entries each.
  [[nodiscard]] std::span<SessionMissesEntry> misses() const { return fixed().misses; }
  [[nodiscard]] std::span<BankEntry> banks() const {
    return {reinterpret_cast<BankEntry*>(&fixed() + 1), banks_};
  }
  [[nodiscard]] StreamEntry& stream() const { return fixed().stream; }
  [[nodiscard]] std::span<StreamCpuEntry> stream_cpus() const {
    return {reinterpret_cast<StreamCpuEntry*>(banks().data() + banks_), cpus_};
  }

 private:
  struct Fixed {
    ConfigLog configs;
    uint64_t magic;
    LedgerCounts retired_misses;
    std::array<SessionMissesEntry, size_t{SESSIONS_MAX} * EVENT_ID_MAX> misses;
    StreamEntry stream;
  };
  Ledger(uint32_t cpus, uint32_t banks) : cpus_(cpus), banks_(banks) {}
  [[nodiscard]] Fixed& fixed() const {
    return *reinterpret_cast<Fixed*>(memory_ ? memory_.data()
                                             : reinterpret_cast<std::byte*>(own_.data()));
  }
  Result<> map(const Pins* pins, size_t bytes);

  uint32_t cpus_, banks_;
  bool adopted_ = false;
  Mapping memory_;
  mutable std::vector<uint64_t> own_;  // used if the map cannot be created
};

}  // namespace ktraced
