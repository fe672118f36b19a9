// SPDX-License-Identifier: BSD-2-Clause
// Counts the events of the stream that are in traces, so that losses of a crash can be reported.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "kernel/pins/pinned_memory.h"
#include "kernel/rings/counters.h"
#include "trace/directory/trace_writer.h"

namespace ktraced {

// Two counts for each CPU and event: events read from the ring or dropped there, and events in the
// finished traces of stream.output. Both outlive the daemon. Their difference, minus the events in
// the unfinished trace, is what a killed daemon had not written.
class StreamAccount {
 public:
  // With `pins` it outlives the daemon.
  static StreamAccount open(const Pins* pins, uint32_t cpus);

  // In this memory, or in memory of its own if that has no mapping.
  StreamAccount(uint32_t cpus, PinnedMemory memory);
  [[nodiscard]] static size_t bytes(uint32_t cpus) { return sizeof(Header) + cpus * sizeof(Cpu); }

  // Drops of an event that were reported to readers, by CPU and event id.
  using Reported = std::function<uint64_t(uint32_t cpu, uint16_t event)>;

  // The events that a killed daemon had read, without those in its finished traces.
  struct Unwritten {
    std::string trace;  // the unfinished trace, whose events the caller subtracts; empty: none yet
    std::vector<std::vector<uint64_t>> counts;  // by CPU and event id
  };
  // Continues the account of an earlier daemon; call it first. `consumed`: the position of each
  // CPU's ring. Nothing if that daemon ended cleanly, or if its losses are unknown.
  std::optional<Unwritten> resume(const std::map<uint32_t, uint64_t>& consumed,
                                  const Reported& reported);

  // The drain thread has read a record.
  void take(uint32_t cpu, uint16_t event);
  // The drain thread is about to release the CPU's ring up to `position`; take() has counted all
  // records before it.
  void commit(uint32_t cpu, uint64_t position);
  // The CPU has a new ring, which begins at 0.
  void restart(uint32_t cpu);
  // From now on nothing taken is unwritten, except for `known_lost`: the series will report it.
  void begin(const Reported& reported, const LostByCpu& known_lost);
  // The number of the last begin(). A series of traces keeps that of its own beginning: it may
  // still be written when the stream has begun again.
  [[nodiscard]] uint64_t generation() const;
  // Published packets were neither written nor lost: until the next begin() the losses of a crash
  // are unknown. Any thread.
  void give_up();
  // Packets of the series with this number were neither written nor lost. The losses of a crash are
  // unknown until the next begin() or, if that was called already, until this series ends.
  void give_up(uint64_t generation);

  // The writer begins a trace of a series, has ended one, or ends writing the series.
  void begin_trace(uint64_t generation, const std::string& path);
  void end_trace(uint64_t generation, const TraceWriter& trace);
  void end(uint64_t generation);

 private:
  using Counts = std::array<uint64_t, EVENT_ID_MAX>;
  static constexpr uint64_t kNoPosition = UINT64_MAX;
  // One of two copies: while one is written, the other is valid. The valid one has the position of
  // the ring.
  struct Slot {
    uint64_t position;
    Counts counts;
  };
  struct Cpu {
    std::array<Slot, 2> slots;
    std::array<Counts, 2> written;  // as of Header::traces
  };
  struct Header {
    uint64_t active;  // 0: nothing is written; 1 or 2: index of the trace, plus 1
    std::array<std::array<char, 4096>, 2> traces;
  };
  // State of this daemon only.
  struct Taken {
    Counts counts{};
    size_t slot = 0;    // the valid one
    size_t events = 1;  // higher ids have never been counted
  };

  [[nodiscard]] std::byte* memory() const;
  [[nodiscard]] Header& header() const { return *reinterpret_cast<Header*>(memory()); }
  [[nodiscard]] Cpu& cpu(uint32_t number) const {
    return reinterpret_cast<Cpu*>(memory() + sizeof(Header))[number];
  }
  [[nodiscard]] std::atomic_ref<uint64_t> active() const {
    return std::atomic_ref(header().active);
  }
  void store_trace(const std::string& path);
  void write_slot(uint32_t number, size_t slot, uint64_t position);

  PinnedMemory memory_;
  mutable std::vector<uint64_t> own_;  // used if the map cannot be created
  std::vector<Taken> taken_;           // by CPU; drain thread
  // The drain thread and the writer share Header and the members below.
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  std::vector<Counts> written_;  // by CPU; guarded by mutex_
  bool settled_ = false;         // written_ is exact; guarded by mutex_
  uint64_t generation_ = 0;      // guarded by mutex_
};

}  // namespace ktraced
