// SPDX-License-Identifier: BSD-2-Clause
// Merges the packets of several CPUs into one sequence in time order.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "trace/packet/packet.h"

namespace ktraced {

// Whose packets a record was in.
struct RecordOrigin {
  uint32_t source = 0;  // as given to push()
  uint32_t cpu = 0;
};

// Events that are missing in a merged sequence, at their position.
struct LossItem {
  uint64_t ts = 0;  // ns, CLOCK_BOOTTIME: no loss of this CPU is earlier
  uint32_t cpu = 0;
  uint32_t event_id = 0;
  uint64_t count = 0;
  uint32_t source = 0;
};

// Receives what a Merger releases.
class MergeSink {
 public:
  virtual ~MergeSink() = default;
  // `record` is valid during the call.
  virtual void on_record(const RecordOrigin& from, RecordView record) = 0;
  virtual void on_loss(const LossItem& loss) = 0;
  // A stack, or a mapping or file of its frames (is_stack_record()), valid during the call. It
  // comes before the events of its CPU that need it, also before those of a window that it is not
  // in, and may come more than once.
  virtual void on_stack(const RecordOrigin&, RecordView) {}
};

// Holds packets until they are released in time order. Packets of different CPUs may be pushed in
// any order; those of one CPU must be in order. There may be several sources, e.g. traces: each has
// separate packets for each CPU.
//
// Each packet is one sorted run of a merge over all held packets. Records with equal times are
// ordered by CPU, and within a CPU by packet. The losses of a packet come before its first record.
// Their time is the end of the previous packet of that CPU or, if it is later, the time up to which
// everything has been released. For the first packet of a CPU it is the packet's begin.
class Merger {
 public:
  // Holds `packet` of `source`; `owner` keeps its bytes alive until they have been
  // released and may be empty if they live longer than the merger anyway.
  void push(const PacketView& packet, std::shared_ptr<const void> owner, uint32_t source = 0);

  // The packets of a CPU that end before `ts` are left out. Call it before its first push().
  void begin_cpu(uint32_t source, uint32_t cpu, uint64_t ts) { end_of_cpu_[key(source, cpu)] = ts; }

  // Gives `sink` everything with ts <= until, in time order.
  void release(uint64_t until, MergeSink& sink);
  void release_all(MergeSink& sink) { release(UINT64_MAX, sink); }

  // Bytes of held packets: the caller bounds them by releasing in time.
  [[nodiscard]] size_t pending_bytes() const { return pending_bytes_; }

 private:
  // A packet whose items before the cursor have been released.
  struct Run {
    uint64_t ts;     // of the next item
    uint64_t order;  // of pushing
    RecordOrigin from;
    uint32_t losses_left;
    std::span<const std::byte> losses;   // array of Lost
    std::span<const std::byte> records;  // left
    size_t bytes;                        // of the whole packet
    std::shared_ptr<const void> owner;
  };
  static uint64_t key(uint32_t source, uint32_t cpu) { return uint64_t{source} << 32 | cpu; }
  static bool later(const Run& a, const Run& b);
  // Releases items of `run` up to and including `until`; false: none are left.
  static bool drain(Run& run, uint64_t until, MergeSink& sink);

  std::vector<Run> runs_;                              // a heap, earliest first
  std::unordered_map<uint64_t, uint64_t> end_of_cpu_;  // by source and CPU
  uint64_t pushed_ = 0;
  uint64_t released_until_ = 0;
  size_t pending_bytes_ = 0;
};

}  // namespace ktraced
