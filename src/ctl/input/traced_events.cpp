// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/input/traced_events.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "analysis/coverage/trace_config.h"
#include "base/text/json_access.h"

namespace ktraced {

using nlohmann::json;

std::optional<EventNames> traced_events(const json& config) {
  auto traced = TraceConfig::of(config).events;
  if (!traced) return traced;
  for (const json& change : list_at(config, "changes"))
    if (auto later = TraceConfig::of(member(change, "config")).events) traced->merge(*later);
  return traced;
}

std::optional<EventNames> traced_events(const TraceReader& trace) {
  auto traced = traced_events(trace.manifest().config);
  if (!traced) return traced;
  for (const CpuAccount& cpu : trace.manifest().cpus)
    for (const auto& [event, account] : cpu.events)
      if (account.records != 0) traced->insert(event);
  return traced;
}

std::optional<EventNames> traced_events(const History& history) {
  EventNames all;
  for (const TraceReader& trace : history.traces()) {
    auto traced = traced_events(trace);
    if (!traced) return traced;
    all.merge(*traced);
  }
  return all;
}

std::optional<std::string> missing_events(const EventNeed& need, const EventNames& traced,
                                          Traced when) {
  std::vector<std::string_view> missing;
  const auto is_traced = [&](std::string_view name) { return traced.contains(std::string(name)); };
  for (const std::string_view event : need.events)
    if (!is_said(event, is_traced)) missing.push_back(event);
  if (missing.empty() || (need.any && missing.size() < need.events.size())) return std::nullopt;
  const bool live = when == Traced::now;
  const char* state = live ? "enabled" : "traced";
  // A session may have events that the recorder has not. --event replaces those of the recorder.
  const auto remedy = [&](std::string names, const char* them) {
    const std::string words = names;
    std::ranges::replace(names, ' ', ',');
    if (!live)
      return fmt::format(
          "'ktracectl events enable {}' turns {} on in the recorder, --event {} in a recording",
          words, them, names);
    return fmt::format("'--event {}' enables {} for this command", names, them);
  };
  if (need.any)
    return fmt::format("{} is made from {}, of which none is {}: {}", need.who,
                       fmt::join(need.events, ", "), state,
                       remedy(std::string(need.enable), "them"));
  return fmt::format("{} needs {}, not {}: {}", need.who, fmt::join(missing, " and "), state,
                     remedy(live ? fmt::format("{}", fmt::join(need.events, " "))
                                 : fmt::format("{}", fmt::join(missing, " ")),
                            missing.size() == 1 ? "it" : "them"));
}

}  // namespace ktraced
