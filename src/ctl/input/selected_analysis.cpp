// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/selected_analysis.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace ktraced {

SelectedAnalysis::SelectedAnalysis(Analysis& analysis, std::span<Selection> selections,
                                   SourceSelector& selector)
    : analysis_(analysis), selections_(selections), selector_(selector) {
  if (!selections_.empty() && selections_.front().has_conditions())
    analysis_.set_selector(selector_);
}

void SelectedAnalysis::add_source(const Schema& schema, const NameTable& names) {
  schemas_.push_back({&schema, schema.events().size()});
  selector_.add_source(names);
  analysis_.add_source(schema, names);
}

void SelectedAnalysis::on_record(const RecordOrigin& from, RecordView record) {
  if (wants(from.source, record.id())) analysis_.on_record(from, record);
}

void SelectedAnalysis::on_loss(const LossItem& loss) {
  if (wants(loss.source, loss.event_id)) analysis_.on_loss(loss);
}

void SelectedAnalysis::on_config_change(uint64_t ts, const TraceConfig& config) {
  analysis_.on_config_change(ts, config);
}

bool SelectedAnalysis::wants(uint32_t source, uint32_t id) {
  Known& known = schemas_[source];
  const auto& events = known.schema->events();
  for (; known.events < events.size(); ++known.events)
    selections_[source].learn(events[known.events]);
  return selections_[source].wants_event(id);
}

bool is_chosen(std::span<const Selection> selections, std::string_view event) {
  return std::ranges::any_of(selections, [&](const Selection& selection) {
    return std::ranges::find(selection.chosen_events(), event) != selection.chosen_events().end();
  });
}

bool uses_any(const EventUse& use, std::span<const Selection> selections) {
  return std::ranges::any_of(selections, [&](const Selection& selection) {
    return std::ranges::any_of(selection.chosen_events(), [&](const std::string& event) {
      return std::ranges::find(use.events, event) != use.events.end();
    });
  });
}

// Each condition must be one that an event of the report can meet.
Result<> check_conditions(std::span<const Selection> selections, const EventUse& use) {
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

}  // namespace ktraced
