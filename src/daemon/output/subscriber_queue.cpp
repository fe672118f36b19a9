// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/output/subscriber_queue.h"

#include <algorithm>
#include <cstring>
#include <ranges>
#include <utility>

#include "base/clock.h"
#include "bpf/records.h"
#include "trace/metadata/account_record.h"

namespace ktraced {
namespace {

constexpr size_t payload_begin(const PacketHeader& header) {
  return sizeof(PacketHeader) + header.lost_count * sizeof(Lost);
}

// Header and loss array of a packet whose records take `payload` bytes.
std::vector<std::byte> make_head(PacketHeader header, const CountsById& lost, size_t payload) {
  header.lost_count = static_cast<uint32_t>(lost.size());
  header.packet_size = 8 * (payload_begin(header) + payload);
  header.content_size = header.packet_size;
  std::vector<std::byte> head(payload_begin(header));
  std::memcpy(head.data(), &header, sizeof(header));
  std::byte* at = head.data() + sizeof(header);
  for (const auto& [event_id, count] : lost) {
    Lost entry{.count = count, .event_id = event_id, .reserved = 0};
    std::memcpy(at, &entry, sizeof(entry));
    at += sizeof(entry);
  }
  return head;
}

void add(CountsById& to, const std::vector<Lost>& from) {
  for (const Lost& lost : from) to[lost.event_id] += lost.count;
}

// The records of a metadata packet that are neither names nor say that names were lost: nobody can
// bring about many of them who has no rights here.
struct Sorted {
  std::vector<std::byte> needed;
  bool has_names = false;
};

Sorted sort_metadata(const PacketView& packet) {
  Sorted sorted;
  packet.for_each_record([&](const RecordView& record) {
    const uint16_t id = record.id();
    if (id == METADATA_task || id == METADATA_slab_cache || id == METADATA_cgroup ||
        id == METADATA_command || id == METADATA_lost_names) {
      sorted.has_names = true;
      return;
    }
    const auto bytes = record.bytes();
    sorted.needed.insert(sorted.needed.end(), bytes.begin(), bytes.end());
  });
  return sorted;
}

}  // namespace

size_t& SubscriberQueue::account_of(const Item& item) {
  return item.names ? name_bytes_ : event_bytes_;
}

void SubscriberQueue::append(Item item) {
  account_of(item) += item.size();
  items_.push_back(std::move(item));
}

void SubscriberQueue::prepend(const std::vector<PacketBytes>& packets) {
  for (const PacketBytes& bytes : std::views::reverse(packets)) {
    const PacketView packet = PacketView::of_built(bytes);
    items_.push_front({.head = {}, .packet = bytes, .skip = 0, .names = packet.is_metadata()});
    account_of(items_.front()) += items_.front().size();
    if (packet.is_metadata() && last_names_.magic == 0) last_names_ = packet.header();
    if (packet.is_metadata()) name_bytes_max_ += bytes->size();
  }
}

bool SubscriberQueue::push_batch(std::span<const PacketBytes> batch, bool last) {
  bool names_fit = true;
  overflown_ = false;
  for (const PacketBytes& bytes : batch) {
    if (!PacketView::of_built(bytes).is_metadata()) {
      push_events(bytes);
      continue;
    }
    // Reports losses that no packet of this batch could carry. A queue that is still rather full
    // gets no loss packets: so these cannot accumulate, and the losses are reported later.
    if (last || event_bytes_ <= event_bytes_max_ / 2) report_lost_events();
    names_fit = push_metadata(bytes, last) && names_fit;
  }
  return names_fit;
}

// A packet that is dropped as a whole was not needed: the watermark of a later one says more.
bool SubscriberQueue::push_metadata(const PacketBytes& bytes, bool last) {
  const PacketView packet = PacketView::of_built(bytes);
  const PacketHeader& header = packet.header();
  if (name_bytes_ + bytes->size() <= name_bytes_max_) {
    report_lost_names();
    last_names_ = header;
    append({.head = {}, .packet = bytes, .skip = 0, .names = true});
    return true;
  }
  Sorted sorted = sort_metadata(packet);
  if (sorted.has_names) drop_names(header);
  if (!last && name_bytes_ + sorted.needed.size() > 2 * name_bytes_max_) overflown_ = true;
  if (overflown_ || (sorted.needed.empty() && !last)) return !sorted.has_names;
  if (const auto lost = std::exchange(lost_names_, std::nullopt)) {
    const auto record = lost_names_record(*lost);
    sorted.needed.insert(sorted.needed.end(), record.begin(), record.end());
  }
  last_names_ = header;
  push_records(header, sorted.needed);
  return !sorted.has_names;
}

// Drops the names of a packet. They changed after the watermark of the names before them.
void SubscriberQueue::drop_names(const PacketHeader& header) {
  if (!lost_names_) lost_names_ = {.from = last_names_.timestamp_end, .until = 0};
  lost_names_->until = std::max(lost_names_->from, header.timestamp_end);
  last_dropped_names_ = header;
}

void SubscriberQueue::push_records(PacketHeader header, const std::vector<std::byte>& records) {
  std::vector<std::byte> packet = make_head(header, {}, records.size());
  packet.insert(packet.end(), records.begin(), records.end());
  append({.head = std::move(packet), .packet = nullptr, .skip = 0, .names = true});
}

void SubscriberQueue::report_lost_names() {
  const auto lost = std::exchange(lost_names_, std::nullopt);
  if (!lost) return;
  last_names_ = last_dropped_names_;
  push_records(last_names_, lost_names_record(*lost));
}

void SubscriberQueue::end_because(std::string_view reason) {
  const size_t kept = front_written_ != 0 ? 1 : 0;
  for (; items_.size() > kept; items_.pop_back()) {
    const Item& item = items_.back();
    account_of(item) -= item.size();
    if (item.packet && !item.names)
      PacketView::of_built(item.packet).for_each_record([this](const RecordView&) {
        ++lost_events_;
      });
  }
  losses_.clear();
  lost_names_.reset();
  ++last_names_.packet_seq_num;
  push_records(last_names_, end_record(reason, boottime_ns()));
}

void SubscriberQueue::push_events(const PacketBytes& bytes) {
  const PacketView packet = PacketView::of_built(bytes);
  if (event_bytes_ + bytes->size() > event_bytes_max_) return drop(packet);
  auto found = losses_.find(packet.header().cpu_id);
  if (found == losses_.end())
    return append({.head = {}, .packet = bytes, .skip = 0, .names = false});

  Losses& losses = found->second;
  if (bytes->size() + losses.unreported.size() * sizeof(Lost) > kPacketMaxBytes)
    report_losses(losses);
  PacketHeader header = packet.header();
  header.events_discarded += losses.records;
  CountsById lost = std::exchange(losses.unreported, {});
  add(lost, packet.lost());
  size_t skip = payload_begin(packet.header());
  append({.head = make_head(header, lost, bytes->size() - skip),
          .packet = bytes,
          .skip = skip,
          .names = false});
}

void SubscriberQueue::drop(const PacketView& packet) {
  Losses& losses = losses_[packet.header().cpu_id];
  if (losses.unreported.empty()) losses.first_unreported_ts = packet.header().timestamp_begin;
  add(losses.unreported, packet.lost());
  losses.last_dropped = packet.header();
  // The losses in its header are already counted in its events_discarded.
  packet.for_each_record([&](const RecordView& record) {
    ++losses.unreported[record.id()];
    ++losses.records;
    ++lost_events_;
  });
}

// Queues a packet without records, with the sequence number of the last dropped packet.
void SubscriberQueue::report_losses(Losses& losses) {
  if (losses.unreported.empty()) return;
  PacketHeader header = losses.last_dropped;
  header.timestamp_begin = losses.first_unreported_ts;
  header.events_discarded += losses.records;
  append({.head = make_head(header, std::exchange(losses.unreported, {}), 0),
          .packet = nullptr,
          .skip = 0,
          .names = true});
}

void SubscriberQueue::push_losses() {
  report_lost_events();
  report_lost_names();
}

void SubscriberQueue::report_lost_events() {
  for (auto& [cpu, losses] : losses_) report_losses(losses);
}

void SubscriberQueue::push_end() {
  size_t before = items_.size();
  push_losses();
  if (items_.size() == before) return;
  PacketHeader header = last_names_;
  ++header.packet_seq_num;
  append({.head = make_head(header, {}, 0), .packet = nullptr, .skip = 0, .names = true});
}

size_t SubscriberQueue::peek(std::span<iovec> parts, size_t bytes_max) const {
  size_t count = 0, bytes = 0, written = front_written_;
  auto add_part = [&](const std::byte* data, size_t size) {
    size_t skip = std::min(written, size);
    written -= skip;
    if (skip == size || count == parts.size()) return;
    parts[count++] = {.iov_base = const_cast<std::byte*>(data + skip), .iov_len = size - skip};
    bytes += size - skip;
  };
  for (const Item& item : items_) {
    if (count == parts.size() || bytes >= bytes_max) break;
    add_part(item.head.data(), item.head.size());
    if (item.packet) add_part(item.packet->data() + item.skip, item.packet->size() - item.skip);
  }
  return count;
}

void SubscriberQueue::written(size_t bytes) {
  front_written_ += bytes;
  while (!items_.empty() && front_written_ >= items_.front().size()) {
    const Item& item = items_.front();
    front_written_ -= item.size();
    account_of(item) -= item.size();
    items_.pop_front();
    ++sent_packets_;
  }
}

PacketBytes SubscriberQueue::take() {
  if (items_.empty()) return nullptr;
  Item item = std::move(items_.front());
  items_.pop_front();
  account_of(item) -= item.size();
  ++sent_packets_;
  if (item.head.empty()) return std::move(item.packet);
  if (item.packet)
    item.head.insert(item.head.end(), item.packet->begin() + static_cast<ptrdiff_t>(item.skip),
                     item.packet->end());
  return std::make_shared<const std::vector<std::byte>>(std::move(item.head));
}

}  // namespace ktraced
