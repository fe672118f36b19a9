// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/selected_input.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace ktraced {
namespace {

// Forwards the events that `selections` select by name, with one selection for each source.
class SelectedAnalysis : public Analysis {
 public:
  SelectedAnalysis(Analysis& analysis, std::vector<Selection>& selections, SourceSelector& selector)
      : analysis_(analysis), selections_(selections), selector_(selector) {}

  void add_source(const Schema& schema, const NameTable& names) override {
    schemas_.push_back({&schema, schema.events().size()});
    selector_.add_source(names);
    analysis_.add_source(schema, names);
  }
  void on_record(const RecordOrigin& from, RecordView record) override {
    if (wants(from.source, record.id())) analysis_.on_record(from, record);
  }
  void on_loss(const LossItem& loss) override {
    if (wants(loss.source, loss.event_id)) analysis_.on_loss(loss);
  }
  void on_config_change(uint64_t ts, const TraceConfig& config) override {
    analysis_.on_config_change(ts, config);
  }

 private:
  struct Known {
    const Schema* schema;
    size_t events;  // already known to the selection
  };
  bool wants(uint32_t source, uint32_t id) {
    Known& known = schemas_[source];
    const auto& events = known.schema->events();
    for (; known.events < events.size(); ++known.events)
      selections_[source].learn(events[known.events]);
    return selections_[source].wants_event(id);
  }

  Analysis& analysis_;
  std::vector<Selection>& selections_;
  SourceSelector& selector_;
  std::vector<Known> schemas_;
};

bool uses_any(const EventUse& use, const std::vector<Selection>& selections) {
  return std::ranges::any_of(selections, [&](const Selection& selection) {
    return std::ranges::any_of(selection.chosen_events(), [&](const std::string& event) {
      return std::ranges::find(use.events, event) != use.events.end();
    });
  });
}

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

// Each condition must be one that an event of the report can meet.
Result<> check_conditions(const std::vector<Selection>& selections, const EventUse& use) {
  if (use.events.empty() || selections.empty()) return {};
  const size_t conditions = selections.front().conditions().size();
  for (size_t i = 0; i < conditions; ++i) {
    const bool usable = std::ranges::any_of(selections, [&](const Selection& selection) {
      return std::ranges::any_of(
          use.events, [&](std::string_view event) { return selection.can_meet(i, event); });
    });
    if (!usable)
      return fail(ExitCode::usage, "{} cannot use {}: it concerns none of its events ({})",
                  use.report, selections.front().conditions()[i], fmt::join(use.events, ", "));
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
  return !by_event_ || std::ranges::any_of(selections_, [&](const Selection& selection) {
    return std::ranges::find(selection.chosen_events(), event) != selection.chosen_events().end();
  });
}

bool SelectedInput::can_select(const std::string& event) const {
  return is_chosen(event) && std::ranges::any_of(selections_, [&](const Selection& selection) {
           return selection.can_select(event);
         });
}

Result<> SelectedInput::read(Analysis& analysis) {
  SelectedAnalysis selected(analysis, selections_, selector_);
  if (!selections_.empty() && selections_.front().has_conditions())
    analysis.set_selector(selector_);
  return input_->read(selected);
}

std::string SelectedInput::unmet_selection() const {
  if (selections_.empty() || !selections_.front().has_conditions()) return {};
  return selections_.front().unmet_text(selector_.ever_met());
}

ReportFacts SelectedInput::facts(const std::vector<std::string>& needed) {
  std::vector<std::string> kept, left_out;
  for (const std::string& event : needed) (is_chosen(event) ? kept : left_out).push_back(event);
  ReportFacts facts = input_->facts(kept);
  nlohmann::json accounts = nlohmann::json::object();
  for (const auto& [event, account] : facts.accounts.items())
    if (can_select(event)) accounts[event] = account;
  facts.accounts = std::move(accounts);
  if (!left_out.empty())
    facts.caveat(fmt::format("--event leaves out {}", fmt::join(left_out, ", ")));
  return facts;
}

}  // namespace ktraced
