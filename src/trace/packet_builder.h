// SPDX-License-Identifier: BSD-2-Clause
// Turns the records of one CPU into packets.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "trace/packet.h"

namespace ktraced {

// How late a record may come to its ring: longer than any program takes from taking the
// time to reserving the place, even if it is interrupted or preempted.
inline constexpr uint64_t kHoldBackNs = 2'000'000;

// Collects records of one CPU in the order of its ring, puts those right that an
// interrupt has nested out of time order, and cuts packets. Losses are told in
// the header of the packet that begins where they happened.
//
// A record can lie in the ring behind one with a later time stamp, when the
// interrupt came between taking the time and reserving. Records younger than the
// `up_to` of take() are therefore held back: what they may have to be sorted
// before can still be missing. One that comes too late even so gets the time of
// the last record that has left, so that time never runs backwards in a stream.
class PacketBuilder {
 public:
  static constexpr size_t kTargetBytes = 256U << 10;  // cut a packet when it would grow beyond

  // `start`: no record is older (ns, CLOCK_BOOTTIME).
  PacketBuilder(const Uuid& uuid, uint32_t cpu, uint64_t start)
      : uuid_(uuid), cpu_(cpu), last_ts_(start) {}

  // Adds a whole record; bytes are copied.
  void add(std::span<const std::byte> bytes);
  // Events that were lost after the last record added and before the next.
  void lose(std::span<const Lost> lost);
  // Appends to `out` packets with every record with ts <= up_to, and all losses.
  void take(uint64_t up_to, std::vector<PacketBytes>& out);
  // Turns records that have not been taken into losses; returns how many.
  uint64_t discard();

  [[nodiscard]] bool empty() const { return segments_.empty(); }
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
  uint64_t last_ts_;  // of the last record that has left
  uint64_t sequence_ = 0;
  uint64_t discarded_ = 0;  // cumulative
  uint64_t late_records_ = 0;
};

// A packet of name records, which ends a pass: `records` is their concatenation,
// `complete_until` the time up to which all events have been sent.
[[nodiscard]] PacketBytes build_names_packet(const Uuid& uuid, uint64_t sequence,
                                             uint64_t complete_until,
                                             std::span<const std::byte> records);
// The same in as many packets as it takes, at least one; `sequence` is that of the next one.
[[nodiscard]] std::vector<PacketBytes> build_names_packets(const Uuid& uuid, uint64_t& sequence,
                                                           uint64_t complete_until,
                                                           std::span<const std::byte> records);

}  // namespace ktraced
