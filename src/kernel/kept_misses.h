// SPDX-License-Identifier: BSD-2-Clause
// Hits that the kernel skipped at programs and links that are gone.
#pragma once

#include <cstdint>
#include <vector>

#include "bpf/shared_state.h"
#include "kernel/pinned_memory.h"
#include "kernel/pins.h"

namespace ktraced {

// The kernel forgets what it skipped with the program or the link. The sums kept here, by event,
// live as long as the flight recorder's history, so that a daemon that adopts it can account for
// them. Not thread-safe.
class KeptMisses {
 public:
  // With `pins` they outlive the daemon.
  static KeptMisses open(const Pins* pins);

  // Call it before what has counted the hits is let go: a daemon that ends in between lets the
  // next one count them twice, and never not at all.
  void add(uint16_t event, uint64_t count) { counts()[event] += count; }
  [[nodiscard]] uint64_t of(uint16_t event) const { return counts()[event]; }
  // They are those of an earlier daemon, too.
  [[nodiscard]] bool adopted() const { return memory_.adopted; }

 private:
  KeptMisses() = default;
  [[nodiscard]] uint64_t* counts() const {
    return memory_.mapping ? reinterpret_cast<uint64_t*>(memory_.mapping.data()) : own_.data();
  }

  PinnedMemory memory_;
  mutable std::vector<uint64_t> own_;  // where no map can be made
};

}  // namespace ktraced
