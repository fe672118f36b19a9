// SPDX-License-Identifier: BSD-2-Clause
// The interface of the analyses behind reports.
#pragma once

#include "analysis/coverage/record_selector.h"
#include "analysis/coverage/trace_config.h"
#include "schema/schema.h"
#include "trace/merge/merge.h"
#include "trace/metadata/name_table.h"

namespace ktraced {

// Takes the events of one or several traces, or of a stream, in time order. A loss with count 0
// means that events may be missing there.
class Analysis : public MergeSink {
 public:
  // Adds a source of events: the first one added is RecordOrigin::source 0, and so on. Both
  // arguments must exist until the last event; they may grow between events.
  virtual void add_source(const Schema& schema, const NameTable& names) = 0;
  // Sets the trace config from `ts` on. Called before the first event and after each config change.
  // Intervals that contain a change cannot be measured.
  virtual void on_config_change(uint64_t /*ts*/, const TraceConfig& /*config*/) {}
  // Limits the results to what `selector`, which must outlive this, selects; without one they are
  // about everything. Called before the first event. All records are given nevertheless.
  virtual void set_selector(const RecordSelector& selector) { selector_ = &selector; }

 protected:
  // What a record meets of the selection, and whether that is all of it.
  [[nodiscard]] MetConditions met(const RecordOrigin& from, RecordView record) const {
    return selector_ == nullptr ? kAllMet : selector_->met(from, record);
  }
  [[nodiscard]] bool is_selected(const RecordOrigin& from, RecordView record) const {
    return met(from, record) == kAllMet;
  }
  // Is what the record says about thread `tid` selected?
  [[nodiscard]] bool is_selected(const RecordOrigin& from, RecordView record, uint32_t tid) const {
    return selector_ == nullptr || selector_->met_by(from, record, tid) == kAllMet;
  }
  // Call this for what is selected by several records together.
  void note(MetConditions met) const {
    if (selector_ != nullptr) selector_->note(met);
  }
  [[nodiscard]] bool selects_cpu(uint32_t cpu) const {
    return selector_ == nullptr || selector_->selects_cpu(cpu);
  }
  [[nodiscard]] bool selects_loss(const LossItem& loss) const {
    return selector_ == nullptr || selector_->selects_loss(loss);
  }

 private:
  const RecordSelector* selector_ = nullptr;
};

}  // namespace ktraced
