// SPDX-License-Identifier: BSD-2-Clause
// The events of a report, limited to a selection.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/coverage/record_selector.h"
#include "ctl/input/report_input.h"
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
    return note(selections_[from.source].met(from.cpu, record, *names_[from.source]));
  }
  [[nodiscard]] MetConditions met_by(const RecordOrigin& from, RecordView record,
                                     uint32_t tid) const override {
    return note(selections_[from.source].met(from.cpu, record, *names_[from.source], tid));
  }
  [[nodiscard]] bool selects_cpu(uint32_t cpu) const override {
    return selections_.empty() || selections_.front().wants_cpu(cpu);
  }
  [[nodiscard]] bool selects_loss(const LossItem& loss) const override {
    return selections_[loss.source].wants_loss(loss.cpu, loss.event_id);
  }

  // The conditions that any record has met.
  [[nodiscard]] MetConditions ever_met() const { return ever_met_; }

 private:
  MetConditions note(MetConditions met) const {
    ever_met_ |= met;
    return met;
  }

  std::span<const Selection> selections_;
  std::vector<const NameTable*> names_;
  mutable MetConditions ever_met_ = 0;
};

// Another input, limited to a selection. Of events that --event does not select, an analysis gets
// neither the records nor the losses, and the facts name those that it needs. All other conditions
// only select what the analysis reports (Analysis::set_selector()): it still gets all records,
// which it needs to find the ends of intervals.
class SelectedInput : public ReportInput {
 public:
  // Returns `input` itself if `args` select everything. Fails as Selection::make(), and with
  // ExitCode::usage for a name of which the report uses no event, and for a condition that none of
  // its events can meet.
  static Result<std::unique_ptr<ReportInput>> of(std::unique_ptr<ReportInput> input,
                                                 const SelectionArgs& args, const EventUse& use);

  Result<> read(Analysis& analysis) override;
  void refresh(Refresh how) override { input_->refresh(std::move(how)); }
  [[nodiscard]] ReportFacts facts(const std::vector<std::string>& needed) override;
  [[nodiscard]] std::optional<std::set<std::string>> traced() const override {
    return input_->traced();
  }
  [[nodiscard]] Result<std::vector<Selection>> select(const SelectionArgs& args) const override {
    return input_->select(args);
  }
  [[nodiscard]] std::string unmet_selection() const override;
  std::string_view symbol(uint64_t address) override { return input_->symbol(address); }
  [[nodiscard]] Result<> verdict() const override { return input_->verdict(); }

 private:
  SelectedInput(std::unique_ptr<ReportInput> input, std::vector<Selection> selections,
                bool by_event)
      : input_(std::move(input)),
        selections_(std::move(selections)),
        selector_(selections_),
        by_event_(by_event) {}
  // Is it selected by name in one of the sources? Can one of its records meet the conditions?
  [[nodiscard]] bool is_chosen(const std::string& event) const;
  [[nodiscard]] bool can_select(const std::string& event) const;

  std::unique_ptr<ReportInput> input_;
  std::vector<Selection> selections_;  // of each source
  SourceSelector selector_;
  bool by_event_;  // --event is given
};

}  // namespace ktraced
