// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/chosen_events.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace ktraced {
namespace {

// Forwards the events that `selections` accept, with one selection for each source.
class ChosenAnalysis : public Analysis {
 public:
  ChosenAnalysis(Analysis& analysis, std::vector<Selection>& selections)
      : analysis_(analysis), selections_(selections) {}

  void add_source(const Schema& schema, const NameTable& names) override {
    schemas_.push_back({&schema, schema.events().size()});
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
  std::vector<Known> schemas_;
};

bool uses_any(const EventUse& use, const std::vector<Selection>& selections) {
  return std::ranges::any_of(selections, [&](const Selection& selection) {
    return std::ranges::any_of(selection.chosen_events(), [&](const std::string& event) {
      return std::ranges::find(use.events, event) != use.events.end();
    });
  });
}

}  // namespace

Result<std::unique_ptr<ReportInput>> ChosenEvents::of(std::unique_ptr<ReportInput> input,
                                                      const std::vector<std::string>& names,
                                                      const EventUse& use) {
  if (names.empty()) return input;
  for (const std::string& name : names) {
    auto one = input->select({.events = {name}});
    if (!one) return propagate(one);
    if (!use.events.empty() && !uses_any(use, *one))
      return fail(ExitCode::usage, "{} does not use '{}'; it uses {}", use.report, name,
                  fmt::join(use.events, ", "));
  }
  auto selections = input->select({.events = names});
  if (!selections) return propagate(selections);
  return std::unique_ptr<ReportInput>(new ChosenEvents(std::move(input), std::move(*selections)));
}

bool ChosenEvents::chosen(const std::string& event) const {
  return std::ranges::any_of(selections_, [&](const Selection& selection) {
    return std::ranges::find(selection.chosen_events(), event) != selection.chosen_events().end();
  });
}

Result<> ChosenEvents::read(Analysis& analysis) {
  ChosenAnalysis chosen(analysis, selections_);
  return input_->read(chosen);
}

ReportFacts ChosenEvents::facts(const std::vector<std::string>& needed) {
  std::vector<std::string> kept, left_out;
  for (const std::string& event : needed) (chosen(event) ? kept : left_out).push_back(event);
  ReportFacts facts = input_->facts(kept);
  nlohmann::json accounts = nlohmann::json::object();
  for (const auto& [event, account] : facts.accounts.items())
    if (chosen(event)) accounts[event] = account;
  facts.accounts = std::move(accounts);
  if (!left_out.empty())
    facts.caveat(fmt::format("--event leaves out {}", fmt::join(left_out, ", ")));
  return facts;
}

}  // namespace ktraced
