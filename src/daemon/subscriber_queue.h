// SPDX-License-Identifier: BSD-2-Clause
// Packets waiting for one subscriber, and the losses it has yet to be told of.
//
// Neither locks nor sockets here; see subscribers.h for both.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "trace/packet.h"

namespace ktraced {

// Numbers of events by event id.
using CountsById = std::map<uint32_t, uint64_t>;

// A published packet with what several queues may want to know about it.
class PublishedPacket {
 public:
  explicit PublishedPacket(PacketBytes bytes);

  [[nodiscard]] const PacketBytes& bytes() const { return bytes_; }
  [[nodiscard]] size_t size() const { return bytes_->size(); }
  [[nodiscard]] const PacketHeader& header() const { return header_; }
  [[nodiscard]] bool is_names() const {
    return header_.stream_id == static_cast<uint32_t>(StreamId::names);
  }
  // Events in its records, and those its header says are lost. Counted when first asked for.
  [[nodiscard]] const CountsById& records() const;
  [[nodiscard]] CountsById lost() const;

 private:
  PacketBytes bytes_;
  PacketHeader header_{};
  mutable std::optional<CountsById> records_;
};

class SubscriberQueue {
 public:
  // Bytes that may wait: of event packets, and of names and loss packets.
  SubscriberQueue(size_t event_bytes_max, size_t name_bytes_max)
      : event_bytes_max_(event_bytes_max), name_bytes_max_(name_bytes_max) {}

  // Puts packets before all others, whatever their size. Only before the first peek().
  void prepend(const std::vector<PacketBytes>& packets);
  // Queues a pass; event packets for which there is no room are dropped and their events told
  // of later, in the `last` pass in any case. False: even the names find no room.
  [[nodiscard]] bool push_pass(std::span<const PublishedPacket> pass, bool last);
  // Queues the losses not yet told of, as a pass of their own: nothing may follow.
  void push_end();
  // Queues the losses not yet told of. Passes may follow.
  void push_losses();

  // Up to `parts.size()` pieces of the bytes to be written next, at most about `bytes_max`.
  // They stay valid, also while passes are pushed, until written() is called.
  [[nodiscard]] size_t peek(std::span<iovec> parts, size_t bytes_max) const;
  // So many of the bytes have been written.
  void written(size_t bytes);

  // The next packet, taken out; null if there is none. Not together with peek().
  [[nodiscard]] PacketBytes take();

  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] size_t queued_bytes() const { return event_bytes_ + name_bytes_ - front_written_; }
  [[nodiscard]] uint64_t sent_packets() const { return sent_packets_; }
  // Those sent and those waiting.
  [[nodiscard]] uint64_t queued_packets() const { return sent_packets_ + items_.size(); }
  [[nodiscard]] uint64_t lost_events() const { return lost_events_; }

 private:
  // What is written is `head`, if any, then `packet` without its first `skip` bytes.
  struct Item {
    std::vector<std::byte> head;
    PacketBytes packet;
    size_t skip = 0;
    bool names = false;

    [[nodiscard]] size_t size() const { return head.size() + (packet ? packet->size() - skip : 0); }
  };
  // What this subscriber has missed of one CPU.
  struct Missed {
    uint64_t records = 0;  // in all packets dropped so far
    CountsById untold;
    uint64_t first_untold_ts = 0;
    PacketHeader last_dropped{};
  };

  void push_events(const PublishedPacket& packet);
  void drop(const PublishedPacket& packet);
  void tell_losses(Missed& missed);
  void append(Item item);
  size_t& account_of(const Item& item);

  size_t event_bytes_max_;
  size_t name_bytes_max_;
  std::deque<Item> items_;
  size_t event_bytes_ = 0;
  size_t name_bytes_ = 0;
  size_t front_written_ = 0;           // bytes of the first item
  std::map<uint32_t, Missed> missed_;  // by CPU; only those that have missed something
  PacketHeader last_names_{};
  uint64_t sent_packets_ = 0;
  uint64_t lost_events_ = 0;
};

}  // namespace ktraced
