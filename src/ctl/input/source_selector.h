// SPDX-License-Identifier: BSD-2-Clause
// The selections of several sources as one selector.
#pragma once

#include <span>
#include <vector>

#include "analysis/coverage/record_selector.h"
#include "ctl/input/selection.h"

namespace ktraced {

// Asks the selection of the source that a record is from.
class SourceSelector : public RecordSelector {
 public:
  // `selections` must outlive this: one for each source.
  explicit SourceSelector(std::span<const Selection> selections) : selections_(selections) {}
  // Adds a source, in the order of RecordOrigin::source. `names` must outlive this.
  void add_source(const NameTable& names) { names_.push_back(&names); }

  [[nodiscard]] MetConditions met(const RecordOrigin& from, RecordView record) const override {
    return selections_[from.source].met(from.cpu, record, *names_[from.source]);
  }
  [[nodiscard]] MetConditions met_by(const RecordOrigin& from, RecordView record,
                                     uint32_t tid) const override {
    return selections_[from.source].met(from.cpu, record, *names_[from.source], tid);
  }
  [[nodiscard]] bool selects_cpu(uint32_t cpu) const override {
    return selections_.empty() || selections_.front().wants_cpu(cpu);
  }
  [[nodiscard]] bool selects_loss(const LossItem& loss) const override {
    return selections_[loss.source].wants_loss(loss.cpu, loss.event_id);
  }

 private:
  std::span<const Selection> selections_;
  std::vector<const NameTable*> names_;
};

}  // namespace ktraced
