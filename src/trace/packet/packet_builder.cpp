// SPDX-License-Identifier: BSD-2-Clause
#include "trace/packet/packet_builder.h"

#include <algorithm>

namespace ktraced {
namespace {

// How far back a record is sorted; interrupts do not nest deeper than this.
constexpr size_t kSortReach = 64;

void append(std::vector<std::byte>& out, const void* data, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  out.insert(out.end(), bytes, bytes + size);
}

}  // namespace

void PacketBuilder::add(std::span<const std::byte> bytes) {
  const RecordView record(bytes.data());
  // No reader would find the record behind it.
  if (record.bytes().size() != bytes.size()) {
    const Lost damaged{.count = 1, .event_id = record.id(), .reserved = 0};
    lose({&damaged, 1});
    return;
  }
  if (segments_.empty()) segments_.emplace_back();
  Segment& segment = segments_.back();
  Entry entry{.ts = record.ts(),
              .offset = static_cast<uint32_t>(segment.bytes.size()),
              .size = static_cast<uint32_t>(bytes.size())};
  append(segment.bytes, bytes.data(), bytes.size());

  auto& entries = segment.entries;
  entries.push_back(entry);
  size_t at = entries.size() - 1;
  const size_t stop = at > kSortReach ? at - kSortReach : 0;
  for (; at > stop && entries[at - 1].ts > entry.ts; --at) entries[at] = entries[at - 1];
  entries[at] = entry;
}

void PacketBuilder::lose(std::span<const Lost> lost) {
  if (lost.empty()) return;
  if (segments_.empty() || !segments_.back().entries.empty()) segments_.emplace_back();
  for (const Lost& l : lost) segments_.back().lost_before[l.event_id] += l.count;
}

void PacketBuilder::take(uint64_t up_to, std::vector<PacketBytes>& out) {
  while (!segments_.empty()) {
    // A loss means that the ring was full: the records before it are old enough.
    bool last = segments_.size() == 1;
    take_segment(segments_.front(), last ? up_to : UINT64_MAX, out);
    if (!segments_.front().entries.empty()) return;
    segments_.pop_front();
  }
}

void PacketBuilder::take_segment(Segment& segment, uint64_t up_to, std::vector<PacketBytes>& out) {
  auto& entries = segment.entries;
  auto later = std::ranges::find_if(entries, [&](const Entry& entry) { return entry.ts > up_to; });
  const auto ready = static_cast<size_t>(later - entries.begin());
  if (ready == 0) {
    if (!segment.lost_before.empty()) out.push_back(build(segment, 0, 0));
    return;
  }
  for (size_t first = 0; first < ready;) {
    size_t bytes = 0;
    size_t last = first;
    while (last < ready && bytes < kTargetBytes) bytes += entries[last++].size;
    out.push_back(build(segment, first, last));
    first = last;
  }
  entries.erase(entries.begin(), later);
  if (entries.empty()) return;
  // Few records remain: move them to the front of a new buffer.
  std::vector<std::byte> rest;
  for (Entry& entry : entries) {
    auto offset = static_cast<uint32_t>(rest.size());
    append(rest, segment.bytes.data() + entry.offset, entry.size);
    entry.offset = offset;
  }
  segment.bytes = std::move(rest);
}

PacketBytes PacketBuilder::build(Segment& segment, size_t first, size_t last) {
  size_t size = sizeof(PacketHeader) + segment.lost_before.size() * sizeof(Lost);
  for (size_t i = first; i < last; ++i) size += segment.entries[i].size;

  std::vector<std::byte> packet;
  packet.reserve(size);
  packet.resize(sizeof(PacketHeader));
  const auto lost_count = static_cast<uint32_t>(segment.lost_before.size());
  for (const auto& [event_id, count] : segment.lost_before) {
    Lost lost{.count = count, .event_id = event_id, .reserved = 0};
    append(packet, &lost, sizeof(lost));
    discarded_ += count;
  }
  segment.lost_before.clear();

  const uint64_t begin = first == last ? last_ts_ : std::max(segment.entries[first].ts, last_ts_);
  for (size_t i = first; i < last; ++i) {
    const Entry& entry = segment.entries[i];
    append(packet, segment.bytes.data() + entry.offset, entry.size);
    if (entry.ts < last_ts_) {
      std::memcpy(packet.data() + packet.size() - entry.size, &last_ts_, sizeof(last_ts_));
      ++late_records_;
    }
    last_ts_ = std::max(entry.ts, last_ts_);
  }

  PacketHeader header{.magic = kPacketMagic,
                      .uuid = uuid_,
                      .stream_id = static_cast<uint32_t>(StreamId::events),
                      .timestamp_begin = begin,
                      .timestamp_end = last_ts_,
                      .content_size = packet.size() * 8,
                      .packet_size = packet.size() * 8,
                      .packet_seq_num = sequence_++,
                      .events_discarded = discarded_,
                      .cpu_id = cpu_,
                      .lost_count = lost_count};
  std::memcpy(packet.data(), &header, sizeof(header));
  return std::make_shared<const std::vector<std::byte>>(std::move(packet));
}

uint64_t PacketBuilder::discard() {
  std::map<uint32_t, uint64_t> lost;
  uint64_t records = 0;
  for (const Segment& segment : segments_) {
    for (const auto& [event_id, count] : segment.lost_before) lost[event_id] += count;
    records += segment.entries.size();
    for (const Entry& entry : segment.entries)
      ++lost[RecordView(segment.bytes.data() + entry.offset).id()];
  }
  segments_.clear();
  for (const auto& [event_id, count] : lost) {
    Lost entry{.count = count, .event_id = event_id, .reserved = 0};
    lose({&entry, 1});
  }
  return records;
}

PacketBytes build_metadata_packet(const Uuid& uuid, uint64_t sequence, uint64_t complete_until,
                                  std::span<const std::byte> records) {
  std::vector<std::byte> packet(sizeof(PacketHeader));
  append(packet, records.data(), records.size());
  PacketHeader header{.magic = kPacketMagic,
                      .uuid = uuid,
                      .stream_id = static_cast<uint32_t>(StreamId::metadata),
                      .timestamp_begin = complete_until,
                      .timestamp_end = complete_until,
                      .content_size = packet.size() * 8,
                      .packet_size = packet.size() * 8,
                      .packet_seq_num = sequence,
                      .events_discarded = 0,
                      .cpu_id = 0,
                      .lost_count = 0};
  std::memcpy(packet.data(), &header, sizeof(header));
  return std::make_shared<const std::vector<std::byte>>(std::move(packet));
}

std::vector<PacketBytes> build_metadata_packets(const Uuid& uuid, uint64_t& sequence,
                                                const Watermarks& watermarks,
                                                std::span<const std::byte> records) {
  std::vector<PacketBytes> packets;
  do {
    size_t bytes = 0;
    while (bytes < records.size() && bytes < PacketBuilder::kTargetBytes)
      bytes += RecordView(records.data() + bytes).bytes().size();
    const auto piece = records.first(bytes);
    records = records.subspan(bytes);
    packets.push_back(build_metadata_packet(
        uuid, sequence++, records.empty() ? watermarks.complete_until : watermarks.before, piece));
  } while (!records.empty());
  return packets;
}

}  // namespace ktraced
