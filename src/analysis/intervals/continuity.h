// SPDX-License-Identifier: BSD-2-Clause
// Where a sequence of events has no gaps.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "analysis/intervals/unknown.h"

namespace ktraced {

// An interval is known only if nothing was lost or changed between its two events, on any CPU: the
// events of a thread may be on several. A loss on a CPU lasts until the next record of that CPU.
class Continuity {
 public:
  // A number that changes whenever a gap begins or ends.
  [[nodiscard]] uint64_t now() const { return changes_; }
  // Why what began at `since`, a value of now(), is not known to have gone on.
  [[nodiscard]] Unknown broken_since(uint64_t since) const {
    if (!losing_.empty()) return Unknown::lost;
    return since == changes_ ? Unknown::none : why_;
  }

  // Notes a record of this CPU, which ends its loss.
  void see(uint32_t cpu) {
    if (!losing_.empty() && losing_.erase(cpu) != 0) interrupt(Unknown::lost);
  }
  // Events of this CPU are missing, from now until see().
  void lose(uint32_t cpu) {
    losing_.insert(cpu);
    interrupt(Unknown::lost);
  }
  // Events of any CPU may be missing before now.
  void interrupt(Unknown why) {
    ++changes_;
    why_ = why;
  }

 private:
  uint64_t changes_ = 0;
  Unknown why_ = Unknown::none;          // of the last change
  std::unordered_set<uint32_t> losing_;  // CPUs that are losing events
};

}  // namespace ktraced
