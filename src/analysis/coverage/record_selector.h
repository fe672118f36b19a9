// SPDX-License-Identifier: BSD-2-Clause
// What a report is about, if not about everything.
#pragma once

#include <cstdint>

#include "trace/merge/merge.h"
#include "trace/packet/packet.h"

namespace ktraced {

// The conditions of a selection that something meets, one bit each. Bits without a condition are
// set.
using MetConditions = uint64_t;
inline constexpr MetConditions kAllMet = ~MetConditions{0};

// Decides what a report is about. An analysis gets the other records too, because it needs them to
// find the ends of intervals and their losses.
class RecordSelector {
 public:
  virtual ~RecordSelector() = default;
  // The conditions that a record meets. An event about two threads is about either of them.
  [[nodiscard]] virtual MetConditions met(const RecordOrigin& from, RecordView record) const = 0;
  // The conditions that what the record says about thread `tid` meets.
  [[nodiscard]] virtual MetConditions met_by(const RecordOrigin& from, RecordView record,
                                             uint32_t tid) const = 0;
  // Something that several records make together, such as a call, meets these conditions.
  virtual void note(MetConditions met) const = 0;
  [[nodiscard]] virtual bool selects_cpu(uint32_t cpu) const = 0;
  // True if a selected event may be among the lost ones.
  [[nodiscard]] virtual bool selects_loss(const LossItem& loss) const = 0;
};

}  // namespace ktraced
