// SPDX-License-Identifier: BSD-2-Clause
// The events of a report, limited to a selection.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ctl/input/report_input.h"
#include "ctl/input/selected_analysis.h"
#include "ctl/selection/selection.h"

namespace ktraced {

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
  void refresh(const Refresh& how) override { input_->refresh(how); }
  [[nodiscard]] ReportFacts facts(const std::vector<std::string>& needed) override;
  [[nodiscard]] std::optional<std::set<std::string>> traced() const override {
    return input_->traced();
  }
  [[nodiscard]] Result<std::vector<Selection>> select(const SelectionArgs& args) const override {
    return input_->select(args);
  }
  [[nodiscard]] std::unique_ptr<TaskHistory> lives(bool always) const override {
    return input_->lives(always || by_event_);
  }
  [[nodiscard]] std::string unmet_selection() const override;
  [[nodiscard]] bool has_stacks() const override { return input_->has_stacks(); }
  void read_stacks(TraceStacks& stacks) override { input_->read_stacks(stacks); }
  void add_files(TraceStacks& stacks) override { input_->add_files(stacks); }
  void find_symbols(const std::vector<uint64_t>& addresses) override {
    input_->find_symbols(addresses);
  }
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
