// SPDX-License-Identifier: BSD-2-Clause
// Random batches of packets, with counts of their events.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "daemon/output/subscriber_queue.h"
#include "trace/packet/packet_builder.h"

namespace ktraced::test {

// Counts of events by CPU.
using CpuCounts = std::map<uint32_t, CountsById>;

// The number of events in a batch.
inline uint64_t records_in(const std::vector<PacketBytes>& batch) {
  uint64_t records = 0;
  for (const PacketBytes& bytes : batch)
    if (const PacketView packet = PacketView::of_built(bytes); !packet.is_metadata())
      packet.for_each_record([&](const RecordView&) { ++records; });
  return records;
}

class FakeDrain {
 public:
  FakeDrain(uint32_t cpus, unsigned seed) : random_(seed) {
    for (uint32_t cpu = 0; cpu < cpus; ++cpu) builders_.emplace_back(Uuid{1, 2, 3}, cpu, 0);
  }

  // A batch with up to `records_max` records for each CPU and occasional losses; 0 makes an empty
  // batch. The watermark of its metadata packet is `until` (or the last record).
  std::vector<PacketBytes> batch(uint32_t records_max, uint64_t until = 0) {
    std::vector<PacketBytes> packets;
    for (uint32_t cpu = 0; cpu < builders_.size(); ++cpu) {
      if (below(3) == 0) continue;
      for (uint32_t i = below(records_max + 1); i > 0; --i) add_record(cpu);
      if (records_max > 0 && below(4) == 0) lose(cpu);
      builders_[cpu].take(UINT64_MAX, packets);
    }
    packets.push_back(build_metadata_packet(Uuid{1, 2, 3}, names_++, std::max(now_, until), {}));
    return packets;
  }

  // The sum over all batches: records and losses together.
  [[nodiscard]] const CpuCounts& happened() const { return happened_; }
  // A number in [0, end).
  uint32_t below(uint32_t end) {
    return std::uniform_int_distribution<uint32_t>(0, end - 1)(random_);
  }

 private:
  void add_record(uint32_t cpu) {
    std::vector<std::byte> bytes(sizeof(record) + 8 * below(5));
    record header{.ts = ++now_,
                  .id = static_cast<uint16_t>(1 + below(20)),
                  .size = static_cast<uint16_t>(bytes.size()),
                  .tid = 7};
    std::memcpy(bytes.data(), &header, sizeof(header));
    builders_[cpu].add(bytes);
    ++happened_[cpu][header.id];
  }
  void lose(uint32_t cpu) {
    Lost lost{.count = 1 + below(100), .event_id = 1 + below(20), .reserved = 0};
    builders_[cpu].lose({&lost, 1});
    happened_[cpu][lost.event_id] += lost.count;
  }

  std::mt19937 random_;
  std::vector<PacketBuilder> builders_;
  uint64_t now_ = 1000;
  uint64_t names_ = 1;
  CpuCounts happened_;
};

// Reads a stream of packets and checks the invariants that readers rely on.
class StreamChecker {
 public:
  // More bytes of the stream, split anywhere.
  void feed(std::span<const std::byte> bytes) {
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
    size_t at = 0;
    while (buffer_.size() - at >= sizeof(PacketHeader)) {
      auto size = packet_bytes(std::span(buffer_).subspan(at));
      ASSERT_TRUE(size) << size.error().message;
      if (*size > buffer_.size() - at) break;
      check(PacketView::parse(std::span(buffer_).subspan(at)).value());
      at += *size;
    }
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(at));
  }

  [[nodiscard]] const CpuCounts& shown_and_lost() const { return counts_; }
  // The stream ends after a complete batch.
  [[nodiscard]] bool at_end_of_batch() const { return buffer_.empty() && ended_with_names_; }
  [[nodiscard]] uint64_t watermark() const { return watermark_; }
  [[nodiscard]] uint64_t packets() const { return packets_; }

 private:
  void check(const PacketView& packet) {
    const PacketHeader& header = packet.header();
    ++packets_;
    ended_with_names_ = header.stream_id == static_cast<uint32_t>(StreamId::metadata);
    if (ended_with_names_) {
      EXPECT_GE(header.timestamp_end, watermark_);
      watermark_ = header.timestamp_end;
      return;
    }
    Cpu& cpu = cpus_[header.cpu_id];
    EXPECT_TRUE(!cpu.any || header.packet_seq_num > cpu.sequence);
    EXPECT_GE(header.timestamp_begin, cpu.end);
    EXPECT_GE(header.timestamp_end, header.timestamp_begin);
    for (const Lost& lost : packet.lost()) {
      counts_[header.cpu_id][lost.event_id] += lost.count;
      cpu.lost += lost.count;
    }
    EXPECT_EQ(header.events_discarded, cpu.lost);
    packet.for_each_record([&](const RecordView& record) {
      EXPECT_GE(record.ts(), header.timestamp_begin);
      EXPECT_LE(record.ts(), header.timestamp_end);
      ++counts_[header.cpu_id][record.id()];
    });
    cpu.any = true;
    cpu.sequence = header.packet_seq_num;
    cpu.end = header.timestamp_end;
  }

  struct Cpu {
    bool any = false;
    uint64_t sequence = 0;
    uint64_t end = 0;
    uint64_t lost = 0;
  };
  std::vector<std::byte> buffer_;
  std::map<uint32_t, Cpu> cpus_;
  CpuCounts counts_;
  uint64_t watermark_ = 0;
  uint64_t packets_ = 0;
  bool ended_with_names_ = false;
};

}  // namespace ktraced::test
