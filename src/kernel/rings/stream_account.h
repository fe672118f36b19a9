// SPDX-License-Identifier: BSD-2-Clause
// Counts the events of the stream that are in traces, so that losses of a crash can be reported.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernel/pins/ledger.h"
#include "kernel/rings/counters.h"
#include "trace/directory/trace_writer.h"

namespace ktraced {

// Two counts for each CPU and event: events read from the ring or dropped there, and events in the
// finished traces of stream.output. Both outlive the daemon. Their difference, minus the events in
// the unfinished trace, is what a killed daemon had not written.
class StreamAccount {
 public:
  // Drops of an event that were reported to readers, by CPU and event id.
  using Reported = std::function<uint64_t(uint32_t cpu, uint16_t event)>;

  // `traces` and `cpus` are those of the Ledger and must outlive this.
  StreamAccount(StreamEntry& traces, std::span<StreamCpuEntry> cpus, Reported reported)
      : traces_(traces),
        cpus_(cpus),
        reported_(std::move(reported)),
        taken_(cpus.size()),
        written_(cpus.size()) {}

  // Continues the account of an earlier daemon; call it first. `consumed`: the position of each
  // CPU's ring. Returns the events that a killed daemon had read and that are in no trace. Nothing
  // if that daemon ended cleanly, or if its losses are unknown: the trace that it was writing is
  // missing, or contradicts the account.
  std::optional<LostByCpu> resume(const std::map<uint32_t, uint64_t>& consumed);

  // The drain thread has read a record.
  void take(uint32_t cpu, uint16_t event);
  // The drain thread is about to release the CPU's ring up to `position`; take() has counted all
  // records before it.
  void commit(uint32_t cpu, uint64_t position);
  // The CPU has a new ring, which begins at 0.
  void restart(uint32_t cpu);
  // From now on nothing taken is unwritten, except for `known_lost`: the series will report it.
  void begin(const LostByCpu& known_lost);
  // The number of the last begin(). A series of traces keeps that of its own beginning: it may
  // still be written when the stream has begun again.
  [[nodiscard]] uint64_t generation() const;
  // Packets, of the series with this number or of the current one, were neither written nor lost.
  // The losses of a crash are unknown until the next begin() or, if that was called already, until
  // this series ends. Any thread.
  void give_up(std::optional<uint64_t> generation = std::nullopt);

  // The writer begins a trace of a series, has ended one, or ends writing the series.
  void begin_trace(uint64_t generation, const std::string& path);
  void end_trace(uint64_t generation, const TraceWriter& trace);
  void end(uint64_t generation);

 private:
  static constexpr uint64_t kNoPosition = UINT64_MAX;
  // State of this daemon only.
  struct Taken {
    LedgerCounts counts{};
    size_t slot = 0;    // the valid one
    size_t events = 1;  // higher ids have never been counted
  };

  [[nodiscard]] std::atomic_ref<uint64_t> active() const { return std::atomic_ref(traces_.active); }
  void store_trace(const std::string& path);
  void write_slot(uint32_t number, size_t slot, uint64_t position);

  StreamEntry& traces_;
  std::span<StreamCpuEntry> cpus_;
  Reported reported_;
  std::vector<Taken> taken_;  // by CPU; drain thread
  // The drain thread and the writer share traces_ and the members below.
  mutable std::mutex mutex_;
  std::vector<LedgerCounts> written_;  // by CPU; guarded by mutex_
  bool settled_ = false;               // written_ is exact; guarded by mutex_
  uint64_t generation_ = 0;            // guarded by mutex_
};

}  // namespace ktraced
