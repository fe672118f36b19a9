// SPDX-License-Identifier: BSD-2-Clause
// Checks that a stream reports all its losses.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/packet/packet.h"

namespace ktraced {

// Follows the sequence numbers of the event packets of a stream. Packets that a slow reader did not
// get leave a gap, and the next packet reports their events as lost. Any other gap is an unreported
// loss.
class StreamContinuity {
 public:
  // The next packet of the stream.
  void take(const PacketView& packet);
  // One sentence for each CPU with unreported gaps since the last clear_gaps().
  [[nodiscard]] std::vector<std::string> gaps() const;
  void clear_gaps() { gaps_.clear(); }

 private:
  // The sequence numbers of a CPU's last packet.
  struct Position {
    uint64_t sequence;
    uint64_t discarded;
  };
  std::map<uint32_t, Position> positions_;  // by CPU
  std::map<uint32_t, uint64_t> gaps_;       // number of gaps, by CPU
};

}  // namespace ktraced
