// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/events/event_selection.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "base/text/name_list.h"

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

bool EventSelection::apply(const Config& config) {
  EventSet enabled = events_of(config);
  const bool changed = enabled != enabled_;
  enabled_ = std::move(enabled);
  configured_.set_patterns(config.tracepoints, existing_tracepoints(!config.tracepoints.empty()));
  return changed;
}

// Unavailable events in the configuration do not keep the daemon from starting.
EventSet EventSelection::events_of(const Config& config) {
  EventSet enabled;
  for (const std::string& event : config.events) {
    if (const std::string* reason = availability_.why_not(event))
      spdlog::warn("event {} is not available: {}", event, *reason);
    enabled.insert(event);
  }
  ChosenEvents chosen;
  for (const std::string& pattern : config.tracepoints)
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

void EventSelection::note_tracepoints() {
  const std::set<std::string> now = existing_tracepoints(!configured_.empty());
  if (now.empty()) return;
  const auto gone = disable_missing(now);
  ChosenEvents chosen;
  for (const std::string& name : configured_.added(now))
    if (auto defined = resolver_.define_tracepoints(name, chosen); !defined)
      spdlog::warn("tracepoint {} is not recorded: {}", name, defined.error().message);
  enabled_.insert(chosen.events.begin(), chosen.events.end());
  if (!gone.empty()) spdlog::info("removed with a module: {}", names_or_count(gone, "tracepoints"));
  if (!chosen.events.empty())
    spdlog::info("added by a module and recorded: {}",
                 names_or_count(chosen.events, "tracepoints"));
}

std::vector<std::string> EventSelection::disable_missing(const std::set<std::string>& existing) {
  std::vector<std::string> gone;
  for (const std::string& name : enabled_)
    if (catalog_.tracepoint(name) != nullptr && !existing.contains(name)) gone.push_back(name);
  for (const std::string& name : gone) {
    enabled_.erase(name);
    availability_.clear_failure(name);
  }
  return gone;
}

// All existing tracepoints, if any of them is enabled or configured. Reading them takes a while.
std::set<std::string> EventSelection::existing_tracepoints(bool configured) const {
  const bool enabled = std::ranges::any_of(
      enabled_, [&](const std::string& name) { return catalog_.tracepoint(name) != nullptr; });
  if (!enabled && !configured) return {};
  auto all = Tracepoints::all();
  if (!all) return {};
  return {all->begin(), all->end()};
}

}  // namespace ktraced
