// SPDX-License-Identifier: BSD-2-Clause
// An analysis of selected events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/analysis.h"
#include "analysis/coverage/record_selector.h"
#include "base/error.h"
#include "ctl/selection/selection.h"

namespace ktraced {

// The events that a report can use.
struct EventUse {
  std::string_view report;                   // "report sched"
  std::span<const std::string_view> events;  // empty: all
};

// Asks the selection of the source that a record is from.
class SourceSelector : public RecordSelector {
 public:
  // `selections` must outlive this: one for each source.
  explicit SourceSelector(std::span<const Selection> selections) : selections_(selections) {}
  // Adds a source, in the order of RecordOrigin::source. `names` must outlive this.
  void add_source(const NameTable& names) { names_.push_back(&names); }

  [[nodiscard]] MetConditions met(const RecordOrigin& from, RecordView record) const override {
    return noted(selections_[from.source].met(from.cpu, record, *names_[from.source]));
  }
  [[nodiscard]] MetConditions met_by(const RecordOrigin& from, RecordView record,
                                     uint32_t tid) const override {
    return noted(selections_[from.source].met(from.cpu, record, *names_[from.source], tid));
  }
  void note(MetConditions met) const override { use_.note(met); }
  [[nodiscard]] bool selects_cpu(uint32_t cpu) const override {
    return selections_.empty() || selections_.front().wants_cpu(cpu);
  }
  [[nodiscard]] bool selects_loss(const LossItem& loss) const override {
    return selections_[loss.source].wants_loss(loss.cpu, loss.event_id);
  }

  // What records, and what they make together, have met.
  [[nodiscard]] const SelectionUse& use() const { return use_; }

 private:
  MetConditions noted(MetConditions met) const {
    note(met);
    return met;
  }

  std::span<const Selection> selections_;
  std::vector<const NameTable*> names_;
  mutable SelectionUse use_;
};

// Forwards the events that `selections` select by name, with one selection for each source. The
// other conditions select what the analysis reports.
class SelectedAnalysis : public Analysis {
 public:
  // What the arguments refer to must outlive this. Sets the selector of `analysis`.
  SelectedAnalysis(Analysis& analysis, std::span<Selection> selections, SourceSelector& selector);

  void add_source(const Schema& schema, const NameTable& names) override;
  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  void on_stack(const RecordOrigin& from, RecordView record) override {
    analysis_.on_stack(from, record);
  }
  void on_config_change(uint64_t ts, const TraceConfig& config) override;

 private:
  struct Known {
    const Schema* schema;
    size_t events;  // already known to the selection
  };
  bool wants(uint32_t source, uint32_t id);

  Analysis& analysis_;
  std::span<Selection> selections_;
  SourceSelector& selector_;
  std::vector<Known> schemas_;
};

// Is an event with this name selected by name in one of the sources?
[[nodiscard]] bool is_chosen(std::span<const Selection> selections, std::string_view event);
// Does one of `selections` select by name an event of `use`?
[[nodiscard]] bool uses_any(const EventUse& use, std::span<const Selection> selections);
// Fails with ExitCode::usage for a condition that no event of `use` can meet.
[[nodiscard]] Result<> check_conditions(std::span<const Selection> selections, const EventUse& use);

}  // namespace ktraced
