// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/pins/kept_misses.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace ktraced {

KeptMisses KeptMisses::open(const Pins* pins) {
  KeptMisses kept;
  auto memory = PinnedMemory::open(pins, "kept_misses", EVENT_ID_MAX * sizeof(uint64_t));
  if (memory) {
    kept.memory_ = std::move(*memory);
  } else {
    spdlog::warn("the next daemon will not know the missed hits of detached events: {}",
                 memory.error().message);
    kept.own_.resize(EVENT_ID_MAX);
  }
  return kept;
}

}  // namespace ktraced
