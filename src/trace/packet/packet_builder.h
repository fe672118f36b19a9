// SPDX-License-Identifier: BSD-2-Clause
// Turns the records of one CPU into packets.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "trace/packet/packet.h"

namespace ktraced {

// The reorder window: how late a record may reach its ring. Longer than any program takes between
// reading the time and reserving the space, even if it is interrupted or preempted.
inline constexpr uint64_t kReorderWindowNs = 2'000'000;

// Collects records of one CPU in the order of its ring, sorts those that a nested interrupt put out
// of time order, and builds packets. Losses are in the header of the packet that begins where they
// happened.
//
// A record can follow one with a later timestamp if an interrupt came between reading the time and
// reserving the space. Records newer than the `up_to` of take() therefore stay in the reorder
// window: records that belong before them may still arrive. A record that is later than that gets
// the time of the last record taken, so that time never runs backwards in a stream.
class PacketBuilder {
 public:
  static constexpr size_t kTargetBytes = 256U << 10;  // a packet ends when it would become larger

  // `start`: no record is older (ns, CLOCK_BOOTTIME).
  PacketBuilder(const Uuid& uuid, uint32_t cpu, uint64_t start)
      : uuid_(uuid), cpu_(cpu), last_ts_(start) {}

  // Adds a whole record; bytes are copied. If its header says another size, which no program of
  // ours writes, it counts as a loss.
  void add(std::span<const std::byte> bytes);
  // Events that were lost after the last record added and before the next.
  void lose(std::span<const Lost> lost);
  // Appends to `out` packets with every record with ts <= up_to, and all losses.
  void take(uint64_t up_to, std::vector<PacketBytes>& out);
  // Counts the records that have not been taken as losses; returns how many.
  uint64_t discard();

  // Records whose time had to be changed.
  [[nodiscard]] uint64_t late_records() const { return late_records_; }

 private:
  struct Entry {
    uint64_t ts;
    uint32_t offset;
    uint32_t size;
  };
  // Records between two losses.
  struct Segment {
    std::map<uint32_t, uint64_t> lost_before;  // event id → count
    std::vector<std::byte> bytes;
    std::vector<Entry> entries;  // in time order
  };

  [[nodiscard]] PacketBytes build(Segment& segment, size_t first, size_t last);
  void take_segment(Segment& segment, uint64_t up_to, std::vector<PacketBytes>& out);

  Uuid uuid_;
  uint32_t cpu_;
  std::deque<Segment> segments_;
  uint64_t last_ts_;  // of the last record taken
  uint64_t sequence_ = 0;
  uint64_t discarded_ = 0;  // cumulative
  uint64_t late_records_ = 0;
};

// A packet of metadata records, which ends a batch: `records` is their concatenation,
// `complete_until` the watermark up to which all events have been sent. They must fit.
[[nodiscard]] PacketBytes build_metadata_packet(const Uuid& uuid, uint64_t sequence,
                                                uint64_t complete_until,
                                                std::span<const std::byte> records);
// However many metadata records in packets that each reader accepts, at least one. The last has the
// watermark `complete_until`, the others, which come before the events, that of the batch before.
// `sequence` is that of the next packet, before and after.
struct Watermarks {
  uint64_t before = 0;
  uint64_t complete_until = 0;
};
[[nodiscard]] std::vector<PacketBytes> build_metadata_packets(const Uuid& uuid, uint64_t& sequence,
                                                              const Watermarks& watermarks,
                                                              std::span<const std::byte> records);

}  // namespace ktraced
