// SPDX-License-Identifier: BSD-2-Clause
// Packets queued for one subscriber, and the losses not yet reported to it.
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
#include <string_view>
#include <vector>

#include "trace/metadata/lost_names.h"
#include "trace/packet/packet.h"

namespace ktraced {

// Numbers of events by event id.
using CountsById = std::map<uint32_t, uint64_t>;

class SubscriberQueue {
 public:
  // The limits in bytes: for event packets, and for metadata and loss packets. Metadata that is not
  // names may take twice as much.
  SubscriberQueue(size_t event_bytes_max, size_t name_bytes_max)
      : event_bytes_max_(event_bytes_max), name_bytes_max_(name_bytes_max) {}

  // Puts packets before all others, regardless of the limits. Only before the first peek().
  void prepend(const std::vector<PacketBytes>& packets);
  // Queues a batch. Event packets that do not fit are dropped, and their events reported as lost
  // later, at the latest in the `last` batch. So are names, with the time in which they changed.
  // False: names were dropped.
  [[nodiscard]] bool push_batch(std::span<const PacketBytes> batch, bool last);
  // Metadata was dropped without which the events cannot be read.
  [[nodiscard]] bool overflown() const { return overflown_; }
  // Queues the unreported losses as a separate batch, the last one.
  void push_end();
  // Drops everything but a packet that is partly written, and queues the reason why the stream ends
  // here. Not between peek() and written().
  void end_because(std::string_view reason);
  // Queues the unreported losses, also those of names. More batches may follow.
  void push_losses();

  // Returns up to `parts.size()` pieces of the next bytes to write, about `bytes_max` at most. They
  // stay valid until written() is called, even if batches are pushed.
  [[nodiscard]] size_t peek(std::span<iovec> parts, size_t bytes_max) const;
  // Removes this number of bytes: they have been written.
  void written(size_t bytes);

  // Removes and returns the next packet; null if there is none. Do not combine with peek().
  [[nodiscard]] PacketBytes take();

  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] size_t queued_bytes() const { return event_bytes_ + name_bytes_ - front_written_; }
  [[nodiscard]] uint64_t sent_packets() const { return sent_packets_; }
  // Packets sent and queued.
  [[nodiscard]] uint64_t queued_packets() const { return sent_packets_ + items_.size(); }
  [[nodiscard]] uint64_t lost_events() const { return lost_events_; }

 private:
  // An item is `head`, if any, then `packet` without its first `skip` bytes.
  struct Item {
    std::vector<std::byte> head;
    PacketBytes packet;
    size_t skip = 0;
    bool names = false;

    [[nodiscard]] size_t size() const { return head.size() + (packet ? packet->size() - skip : 0); }
  };
  // The losses of this subscriber on one CPU.
  struct Losses {
    uint64_t records = 0;  // in all dropped packets so far
    CountsById unreported;
    uint64_t first_unreported_ts = 0;
    PacketHeader last_dropped{};
  };

  void push_events(const PacketBytes& bytes);
  bool push_metadata(const PacketBytes& bytes, bool last);
  void push_records(PacketHeader header, const std::vector<std::byte>& records);
  void drop_names(const PacketHeader& header);
  void report_lost_names();
  void drop(const PacketView& packet);
  void report_losses(Losses& losses);
  void report_lost_events();
  void append(Item item);
  size_t& account_of(const Item& item);

  size_t event_bytes_max_;
  size_t name_bytes_max_;
  std::deque<Item> items_;
  size_t event_bytes_ = 0;
  size_t name_bytes_ = 0;
  size_t front_written_ = 0;           // bytes of the first item
  std::map<uint32_t, Losses> losses_;  // by CPU; only CPUs with losses
  PacketHeader last_names_{};
  std::optional<LostNamesWindow> lost_names_;  // not reported yet
  PacketHeader last_dropped_names_{};
  bool overflown_ = false;
  uint64_t sent_packets_ = 0;
  uint64_t lost_events_ = 0;
};

}  // namespace ktraced
