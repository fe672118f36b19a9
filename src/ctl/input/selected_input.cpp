// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/selected_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "analysis/coverage/trace_config.h"

namespace ktraced {
namespace {

Result<> check_names(const ReportInput& input, const std::vector<std::string>& names,
                     const EventUse& use) {
  for (const std::string& name : names) {
    auto one = input.select({.events = {name}});
    if (!one) return propagate(one);
    if (!use.events.empty() && !uses_any(use, *one))
      return fail(ExitCode::usage, "{} does not use '{}'; it uses {}", use.report, name,
                  fmt::join(use.events, ", "));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<ReportInput>> SelectedInput::of(std::unique_ptr<ReportInput> input,
                                                       const SelectionArgs& args,
                                                       const EventUse& use) {
  if (args.empty()) return input;
  if (auto good = check_names(*input, args.events, use); !good) return propagate(good);
  auto selections = input->select(args);
  if (!selections) return propagate(selections);
  if (auto good = check_conditions(*selections, use); !good) return propagate(good);
  return std::unique_ptr<ReportInput>(
      new SelectedInput(std::move(input), std::move(*selections), !args.events.empty()));
}

bool SelectedInput::is_chosen(const std::string& event) const {
  return !by_event_ || ktraced::is_chosen(selections_, event);
}

bool SelectedInput::can_select(const std::string& event) const {
  return is_chosen(event) && std::ranges::any_of(selections_, [&](const Selection& selection) {
           return selection.can_select(event);
         });
}

Result<> SelectedInput::read(Analysis& analysis) {
  SelectedAnalysis selected(analysis, selections_, selector_);
  return input_->read(selected);
}

std::string SelectedInput::unmet_selection() const {
  if (std::string unmet = input_->unmet_selection(); !unmet.empty()) return unmet;
  if (selections_.empty()) return {};
  return selections_.front().unmet_text(selector_.use(), input_->tasks());
}

ReportFacts SelectedInput::facts(const std::vector<std::string>& needed) {
  std::vector<std::string> kept, left_out;
  const auto chosen = [this](std::string_view name) { return is_chosen(std::string(name)); };
  for (const std::string& event : needed)
    (is_said(event, chosen) ? kept : left_out).push_back(event);
  ReportFacts facts = input_->facts(kept);
  nlohmann::json accounts = nlohmann::json::object();
  for (const auto& [event, account] : facts.accounts.items())
    if (can_select(event)) accounts[event] = account;
  facts.accounts = std::move(accounts);
  if (!left_out.empty())
    facts.caveat(fmt::format("--event leaves out {}", fmt::join(left_out, ", ")));
  facts.left_out = std::move(left_out);
  return facts;
}

}  // namespace ktraced
