// SPDX-License-Identifier: BSD-2-Clause
// Cuts a byte stream into packets.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "base/error.h"
#include "trace/packet.h"

namespace ktraced {

// Takes each whole packet; `owner` keeps its bytes alive.
using PacketVisitor =
    std::function<Result<>(const PacketView& packet, const std::shared_ptr<const void>& owner)>;

// Bytes go into blocks that packets then share, so nothing is copied but the
// beginning of a packet that ran over the end of a block. At most one packet of
// kPacketMaxBytes is ever waited for.
class PacketAssembler {
 public:
  static constexpr size_t kBlockBytes = 1U << 20;

  // Where the next bytes are to be put; never empty.
  [[nodiscard]] std::span<std::byte> room();
  // `count` bytes have been put into room(): visits the packets that are whole
  // now. Fails with ExitCode::data if these are no packets, or as `visit` does.
  [[nodiscard]] Result<> filled(size_t count, const PacketVisitor& visit);
  // Bytes of a packet that is not whole yet.
  [[nodiscard]] size_t pending() const { return end_ - begin_; }

 private:
  // Bytes that the packet at begin_ takes, as far as is known.
  [[nodiscard]] size_t wanted() const;
  [[nodiscard]] std::span<const std::byte> unread() const {
    return {block_.get() + begin_, end_ - begin_};
  }

  std::shared_ptr<std::byte[]> block_;
  size_t capacity_ = 0;
  size_t begin_ = 0;  // of what has not been visited
  size_t end_ = 0;    // of what has been filled
};

}  // namespace ktraced
