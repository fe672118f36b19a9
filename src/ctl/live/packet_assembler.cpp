// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/live/packet_assembler.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ktraced {

size_t PacketAssembler::needed() const {
  if (pending() < sizeof(PacketHeader)) return sizeof(PacketHeader);
  auto size = packet_bytes(unread());
  return size ? *size : sizeof(PacketHeader);
}

std::span<std::byte> PacketAssembler::room() {
  bool shared = block_.use_count() > 1;
  if (!shared && pending() == 0) begin_ = end_ = 0;
  // Do not fill a nearly full block: that would take ever smaller reads.
  bool fits = begin_ + needed() <= capacity_ && capacity_ - end_ >= kBlockBytes / 4;
  if (!fits) {
    size_t capacity = std::max(needed() + kBlockBytes / 4, kBlockBytes);
    auto block = std::make_shared_for_overwrite<std::byte[]>(capacity);
    size_t tail = pending();
    if (tail != 0) std::memcpy(block.get(), block_.get() + begin_, tail);
    block_ = std::move(block);
    capacity_ = capacity;
    begin_ = 0;
    end_ = tail;
  }
  return {block_.get() + end_, capacity_ - end_};
}

Result<> PacketAssembler::filled(size_t count, const PacketVisitor& visit) {
  end_ += count;
  while (pending() >= sizeof(PacketHeader)) {
    auto size = packet_bytes(unread());
    if (!size) return propagate(size);
    if (*size > pending()) break;
    auto packet = PacketView::parse(unread());
    if (!packet) return propagate(packet);
    if (auto visited = visit(*packet, block_); !visited) return visited;
    begin_ += *size;
  }
  return {};
}

}  // namespace ktraced
