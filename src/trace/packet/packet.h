// SPDX-License-Identifier: BSD-2-Clause
// The packet: the one container for records, on the socket and on disk.
//
// A packet is a CTF 1.8 packet: header, context, then the records of one CPU,
// oldest first, byte for byte as the BPF programs wrote them (bpf/records.h).
// All integers are little-endian, as on the machine that wrote them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "bpf/records.h"

namespace ktraced {

inline constexpr uint32_t kPacketMagic = 0xC1FC1FC1;
// Maximum size of a packet; a reader may refuse larger ones.
inline constexpr size_t kPacketMaxBytes = 4U << 20;

using Uuid = std::array<uint8_t, 16>;

enum class StreamId : uint32_t {
  events = 0,    // records of one CPU
  metadata = 1,  // metadata records (rec_metadata_task and others); only on the socket
};

struct PacketHeader {
  uint32_t magic;
  Uuid uuid;           // of the trace: the same in all its packets
  uint32_t stream_id;  // StreamId
  // context
  uint64_t timestamp_begin;   // ns, CLOCK_BOOTTIME: of the first record
  uint64_t timestamp_end;     // of the last record; for names: the watermark
  uint64_t content_size;      // bits, header included; on disk without the last record's padding
  uint64_t packet_size;       // bits, header included, a multiple of 64
  uint64_t packet_seq_num;    // per stream and CPU, from 0
  uint64_t events_discarded;  // events lost on this CPU since the stream began, cumulative
  uint32_t cpu_id;
  uint32_t lost_count;  // entries of the Lost array that follows
};
static_assert(sizeof(PacketHeader) == 80);

// Events lost between the previous packet of this CPU and this one.
struct Lost {
  uint64_t count;
  uint32_t event_id;
  uint32_t reserved;

  bool operator==(const Lost&) const = default;
};
static_assert(sizeof(Lost) == 16);

// The size of a record in bytes: the lowest bits of the word are its context.
constexpr uint16_t size_of(const record& header) {
  return header.size & static_cast<uint16_t>(~RECORD_CONTEXT);
}

// The event of a record, or RECORD_STACK and so on: the highest bit of the word says that it has
// stacks.
constexpr uint16_t id_of(const record& header) {
  return header.id & static_cast<uint16_t>(~RECORD_HAS_STACKS);
}

// Is it the id of a stack, or of a mapping or file of its frames? These are no events.
constexpr bool is_stack_record(uint16_t id) { return id >= RECORD_FILE && id <= RECORD_STACK; }

// A view of a record; valid as long as the underlying bytes.
class RecordView {
 public:
  explicit RecordView(const std::byte* data) : data_(data) {
    std::memcpy(&header_, data, sizeof(header_));
  }
  [[nodiscard]] uint64_t ts() const { return header_.ts; }
  // The event, or RECORD_STACK and so on.
  [[nodiscard]] uint16_t id() const { return id_of(header_); }
  [[nodiscard]] uint32_t tid() const { return header_.tid; }
  // Every value of the bits has a meaning.
  [[nodiscard]] record_context context() const {
    return static_cast<record_context>(header_.size & RECORD_CONTEXT);
  }
  // The whole record, with the numbers of its stacks.
  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_of(header_)}; }
  [[nodiscard]] bool has_stacks() const {
    return (header_.id & RECORD_HAS_STACKS) != 0 &&
           size_of(header_) >= sizeof(header_) + sizeof(stack_numbers);
  }
  // The numbers of its stacks; zeros if it has none.
  [[nodiscard]] stack_numbers stacks() const {
    stack_numbers numbers{};
    if (has_stacks())
      std::memcpy(&numbers, data_ + size_of(header_) - sizeof(numbers), sizeof(numbers));
    return numbers;
  }

 private:
  const std::byte* data_;
  record header_{};
};

// Calls `visit(record)` with the header of each whole record from byte `at` of a packet on, until
// it returns false. Returns where the last one ends for which it returned true.
template <class Visit>
size_t walk_records(std::span<const std::byte> packet, size_t at, Visit&& visit) {
  record next;
  while (at + sizeof(next) <= packet.size()) {
    std::memcpy(&next, packet.data() + at, sizeof(next));
    const size_t size = size_of(next);
    if (size < sizeof(next) || size > packet.size() - at || !visit(next)) break;
    at += size;
  }
  return at;
}

// A copy of the bytes of a record, for a packet.
template <class Record>
std::vector<std::byte> record_bytes(const Record& record) {
  const auto bytes = std::as_bytes(std::span(&record, 1));
  return {bytes.begin(), bytes.end()};
}

// Whole packets that this process has built, immutable and shared between sinks.
using PacketBytes = std::shared_ptr<const std::vector<std::byte>>;

// A view of a valid packet: the header is consistent and the records fill the content exactly.
// Valid as long as its bytes.
class PacketView {
 public:
  // A packet that this process has built, or has checked otherwise, is not checked.
  static PacketView of_built(const PacketBytes& built) { return PacketView(std::span(*built)); }
  // `bytes` begin with a packet and may continue after it. Fails with ExitCode::data.
  static Result<PacketView> parse(std::span<const std::byte> bytes);

  [[nodiscard]] const PacketHeader& header() const { return header_; }
  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] std::vector<Lost> lost() const;
  [[nodiscard]] bool is_metadata() const {
    return header_.stream_id == static_cast<uint32_t>(StreamId::metadata);
  }

  // Calls `visit(RecordView)` for each record, oldest first.
  template <class Visit>
  void for_each_record(Visit&& visit) const {
    for (size_t at = records_begin(); at < bytes_.size();) {
      RecordView record(bytes_.data() + at);
      at += record.bytes().size();
      visit(record);
    }
  }

 private:
  explicit PacketView(std::span<const std::byte> packet) : bytes_(packet) {
    std::memcpy(&header_, packet.data(), sizeof(header_));
  }
  [[nodiscard]] size_t records_begin() const {
    return sizeof(PacketHeader) + header_.lost_count * sizeof(Lost);
  }
  PacketHeader header_{};
  std::span<const std::byte> bytes_;
};

// Size in bytes of a packet, from its first sizeof(PacketHeader) bytes; fails with ExitCode::data
// if they are not the beginning of a packet.
[[nodiscard]] Result<size_t> packet_bytes(std::span<const std::byte> header);

}  // namespace ktraced
