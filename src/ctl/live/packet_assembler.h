// SPDX-License-Identifier: BSD-2-Clause
// Splits a byte stream into packets.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "base/error.h"
#include "trace/packet/packet.h"

namespace ktraced {

// Takes each whole packet; `owner` keeps its bytes alive.
using PacketVisitor =
    std::function<Result<>(const PacketView& packet, const std::shared_ptr<const void>& owner)>;

// Bytes are read into blocks that the packets then share. Only the beginning of a packet that
// crosses the end of a block is copied. Memory: one incomplete packet, kPacketMaxBytes at most.
class PacketAssembler {
 public:
  static constexpr size_t kBlockBytes = 1U << 20;

  // Where to put the next bytes; never empty.
  [[nodiscard]] std::span<std::byte> room();
  // `count` bytes have been put into room(). Visits the packets that are complete now. Fails with
  // ExitCode::data on invalid packets, or as `visit` does.
  [[nodiscard]] Result<> filled(size_t count, const PacketVisitor& visit);
  // Bytes of an incomplete packet.
  [[nodiscard]] size_t pending() const { return end_ - begin_; }

 private:
  // The size of the packet at begin_, as far as known.
  [[nodiscard]] size_t needed() const;
  [[nodiscard]] std::span<const std::byte> unread() const {
    return {block_.get() + begin_, end_ - begin_};
  }

  std::shared_ptr<std::byte[]> block_;
  size_t capacity_ = 0;
  size_t begin_ = 0;  // of the bytes not visited yet
  size_t end_ = 0;    // of the bytes read
};

}  // namespace ktraced
