// SPDX-License-Identifier: BSD-2-Clause
// Hits that the kernel missed at detached programs and links.
#pragma once

#include <cstdint>
#include <vector>

#include "bpf/shared_state.h"
#include "kernel/pins/pinned_memory.h"
#include "kernel/pins/pins.h"

namespace ktraced {

// The kernel's count of missed hits ends with the program or link. The sums here, by event, live as
// long as the flight recorder's history, so that a daemon that adopts it can report them. Not
// thread-safe.
class KeptMisses {
 public:
  // With `pins` the sums outlive the daemon.
  static KeptMisses open(const Pins* pins);

  // Call it before closing the program or link that counted the hits. If the daemon ends in
  // between, the next one counts them twice, but never loses them.
  void add(uint16_t event, uint64_t count) { counts()[event] += count; }
  [[nodiscard]] uint64_t of(uint16_t event) const { return counts()[event]; }
  // The sums include those of an earlier daemon.
  [[nodiscard]] bool adopted() const { return memory_.adopted; }

 private:
  KeptMisses() = default;
  [[nodiscard]] uint64_t* counts() const {
    return memory_.mapping ? reinterpret_cast<uint64_t*>(memory_.mapping.data()) : own_.data();
  }

  PinnedMemory memory_;
  mutable std::vector<uint64_t> own_;  // used if the map cannot be created
};

}  // namespace ktraced
