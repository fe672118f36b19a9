// SPDX-License-Identifier: BSD-2-Clause
// The events of a report when --event selects them.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ctl/input/report_input.h"
#include "ctl/input/selection.h"

namespace ktraced {

// The events that a report can use.
struct EventUse {
  std::string_view report;                   // "report sched"
  std::span<const std::string_view> events;  // empty: all
};

// Another input, limited to the selected events. An analysis gets no other events, nor their
// losses. The facts name the needed events that were left out.
class ChosenEvents : public ReportInput {
 public:
  // Returns `input` itself if `names` is empty. Fails with ExitCode::usage for an unknown name, and
  // for a name of which the report uses no event.
  static Result<std::unique_ptr<ReportInput>> of(std::unique_ptr<ReportInput> input,
                                                 const std::vector<std::string>& names,
                                                 const EventUse& use);

  Result<> read(Analysis& analysis) override;
  [[nodiscard]] ReportFacts facts(const std::vector<std::string>& needed) override;
  [[nodiscard]] std::optional<std::set<std::string>> traced() const override {
    return input_->traced();
  }
  [[nodiscard]] Result<std::vector<Selection>> select(const SelectionArgs& args) const override {
    return input_->select(args);
  }
  std::string_view symbol(uint64_t address) override { return input_->symbol(address); }
  [[nodiscard]] Result<> verdict() const override { return input_->verdict(); }

 private:
  ChosenEvents(std::unique_ptr<ReportInput> input, std::vector<Selection> selections)
      : input_(std::move(input)), selections_(std::move(selections)) {}
  [[nodiscard]] bool chosen(const std::string& event) const;

  std::unique_ptr<ReportInput> input_;
  std::vector<Selection> selections_;  // of each source
};

}  // namespace ktraced
