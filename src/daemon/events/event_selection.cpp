// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/events/event_selection.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/text/text_list.h"

namespace ktraced {

Result<ChosenEvents> EventSelection::set_enabled(const std::vector<std::string>& names,
                                                 bool enabled, EventSet& set) {
  ChosenEvents chosen;
  for (const std::string& name : names)
    if (auto found = resolver_.choose(name, enabled, chosen); !found) return propagate(found);
  for (const std::string& event : chosen.events) {
    if (enabled)
      set.insert(event);
    else
      set.erase(event);
  }
  applier_.reconcile();
  return chosen;
}

// Dynamic events that could not be attached are disabled again. Built-in events stay enabled.
Result<ChosenEvents> EventSelection::check_enabled(const std::vector<std::string>& names,
                                                   ChosenEvents chosen, EventSet& set) {
  std::erase_if(chosen.events, [&](const std::string& event) {
    const std::string* failure = availability_.failure(event);
    if (failure == nullptr || catalog_.dynamic().find(event) == nullptr) return false;
    chosen.skipped.emplace(event, *failure);
    set.erase(event);
    availability_.clear_failure(event);
    return true;
  });
  applier_.note_config();
  for (const std::string& name : names)
    if (const auto failure = chosen.skipped.find(name); failure != chosen.skipped.end())
      return fail(ExitCode::unavailable, "{}", failure->second);
  return chosen;
}

EventSelection::Changed EventSelection::apply(const Config& config) {
  EventSet enabled = recorder_events(config);
  Changed changed{.recorder = enabled != enabled_};
  enabled_ = std::move(enabled);
  std::vector<std::string> of_output;
  if (const auto& output = config.stream.output) {
    auto events = output->events ? std::optional(output_events(*output->events)) : std::nullopt;
    changed.output = events != output_;
    output_ = std::move(events);
    if (output->events) of_output = output->events->tracepoints;
  }
  const std::vector<std::string>& patterns = config.events.tracepoints;
  const auto existing = existing_tracepoints(!patterns.empty() || !of_output.empty());
  configured_.set_patterns(patterns, existing);
  output_configured_.set_patterns(std::move(of_output), existing);
  return changed;
}

// Unavailable events in the configuration do not keep the daemon from starting.
void EventSelection::add_built_in(const EventsConfig& config, EventSet& events) const {
  for (const std::string& event : config.names) {
    if (const std::string* reason = availability_.why_not(event))
      spdlog::warn("event {} is not available: {}", event, *reason);
    events.insert(event);
  }
}

EventSet EventSelection::recorder_events(const Config& config) {
  EventSet enabled;
  add_built_in(config.events, enabled);
  ChosenEvents chosen;
  for (const std::string& pattern : config.events.tracepoints)
    if (auto found = resolver_.define_tracepoints(pattern, chosen); !found)
      spdlog::warn("events.tracepoints: {}", found.error().message);
  for (const auto& [name, reason] : chosen.skipped)
    spdlog::warn("tracepoint {} is not recorded: {}", name, reason);
  enabled.insert(chosen.events.begin(), chosen.events.end());
  probes_.set_configured(config.probes);
  for (const auto& [name, probe] : probes_.entries())
    if (probe.id != 0) enabled.insert(name);
  return enabled;
}

// The names and patterns also stand for probes, which the recorder has in any case.
EventSet EventSelection::output_events(const EventsConfig& config) {
  EventSet events;
  add_built_in(config, events);
  ChosenEvents chosen;
  for (const std::string& pattern : config.tracepoints)
    if (auto found = resolver_.choose(pattern, true, chosen); !found)
      spdlog::warn("stream.output.events.tracepoints: {}", found.error().message);
  for (const auto& [name, reason] : chosen.skipped)
    spdlog::warn("tracepoint {} is not written: {}", name, reason);
  events.insert(chosen.events.begin(), chosen.events.end());
  return events;
}

void EventSelection::note_tracepoints() {
  const auto now = existing_tracepoints(!configured_.empty() || !output_configured_.empty());
  if (now.empty()) return;
  note_tracepoints(now, configured_, enabled_);
  if (output_) note_tracepoints(now, output_configured_, *output_);
}

void EventSelection::note_tracepoints(const std::set<std::string>& existing,
                                      ConfiguredTracepoints& configured, EventSet& set) {
  const auto gone = disable_missing(existing, set);
  ChosenEvents chosen;
  for (const std::string& name : configured.added(existing))
    if (auto defined = resolver_.define_tracepoints(name, chosen); !defined)
      spdlog::warn("tracepoint {} is not recorded: {}", name, defined.error().message);
  set.insert(chosen.events.begin(), chosen.events.end());
  const char* session = &set == &enabled_ ? "recorder" : "output";
  if (!gone.empty())
    spdlog::info("removed with a module, from the session {}: {}", session,
                 names_or_count(gone, "tracepoints"));
  if (!chosen.events.empty())
    spdlog::info("added by a module to the session {}: {}", session,
                 names_or_count(chosen.events, "tracepoints"));
}

std::vector<std::string> EventSelection::disable_missing(const std::set<std::string>& existing,
                                                         EventSet& set) {
  std::vector<std::string> gone;
  for (const std::string& name : set)
    if (catalog_.tracepoint(name) != nullptr && !existing.contains(name)) gone.push_back(name);
  for (const std::string& name : gone) {
    set.erase(name);
    availability_.clear_failure(name);
  }
  return gone;
}

// All existing tracepoints, if any of them is enabled or configured. Reading them takes a while.
std::set<std::string> EventSelection::existing_tracepoints(bool configured) const {
  const auto has_tracepoints = [this](const EventSet& events) {
    return std::ranges::any_of(
        events, [this](const std::string& name) { return catalog_.tracepoint(name) != nullptr; });
  };
  if (!configured && !has_tracepoints(enabled_) && !(output_ && has_tracepoints(*output_)))
    return {};
  auto all = Tracepoints::all();
  if (!all) return {};
  return {all->begin(), all->end()};
}

}  // namespace ktraced
