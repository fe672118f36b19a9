// SPDX-License-Identifier: BSD-2-Clause
// Does a stream account for everything?
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "trace/packet.h"

namespace ktraced {

// Follows the numbers in the event packets of a stream. Packets that were dropped for a slow
// reader leave a gap in them, and the next packet tells their events as lost; whatever is
// missing beyond that, nobody has told.
class StreamContinuity {
 public:
  // The next packet of the stream.
  void take(const PacketView& packet);
  // One sentence for each CPU with gaps that nobody told, since the last forget_gaps().
  [[nodiscard]] std::vector<std::string> gaps() const;
  void forget_gaps() { gaps_.clear(); }

 private:
  // Where the numbers of a CPU's last packet stood.
  struct Position {
    uint64_t sequence;
    uint64_t discarded;
  };
  std::map<uint32_t, Position> positions_;  // by CPU
  std::map<uint32_t, uint64_t> gaps_;       // their number, by CPU
};

}  // namespace ktraced
