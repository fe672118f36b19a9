// SPDX-License-Identifier: BSD-2-Clause
// Resolves event names, and defines events at run time.
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/clock.h"
#include "base/text/suggest.h"
#include "daemon/capture/tracer.h"
#include "trace/metadata/event_records.h"

namespace ktraced {
namespace {

bool is_pattern(std::string_view name) {
  return name.find_first_of("*?[") != std::string_view::npos;
}

}  // namespace

Result<ChosenEvents> Tracer::set_enabled(const std::vector<std::string>& names, bool enabled) {
  ChosenEvents chosen;
  for (const std::string& name : names)
    if (auto found = choose(name, enabled, chosen); !found) return propagate(found);
  for (const std::string& event : chosen.events) {
    if (enabled)
      enabled_.insert(event);
    else
      enabled_.erase(event);
  }
  reconcile();
  return chosen;
}

// Dynamic events that could not be attached are disabled again. Built-in events stay enabled.
Result<ChosenEvents> Tracer::check_enabled(const std::vector<std::string>& names,
                                           ChosenEvents chosen) {
  std::erase_if(chosen.events, [&](const std::string& event) {
    const auto failure = attach_failures_.find(event);
    if (failure == attach_failures_.end() || dynamic_.find(event) == nullptr) return false;
    chosen.skipped.emplace(event, failure->second);
    enabled_.erase(event);
    attach_failures_.erase(failure);
    return true;
  });
  note_config();
  for (const std::string& name : names)
    if (const auto failure = chosen.skipped.find(name); failure != chosen.skipped.end())
      return fail(ExitCode::unavailable, "{}", failure->second);
  return chosen;
}

Result<> Tracer::choose(const std::string& name, bool enabled, ChosenEvents& chosen) {
  if (name.contains(':')) return choose_dynamic(name, enabled, chosen);
  const EventGroups groups = event_groups(schema_);
  if (auto group = groups.find(name); group != groups.end()) {
    for (const std::string& event : group->second)
      if (!enabled || why_unavailable(event) == nullptr) chosen.events.push_back(event);
    return {};
  }
  if (is_pattern(name)) return choose_built_in(name, enabled, chosen);
  if (schema_.find(name) == nullptr) {
    auto found = choose_dynamic(name + ":*", enabled, chosen);
    return found ? found : unknown_event(name);
  }
  if (const std::string* reason = why_unavailable(name); enabled && reason != nullptr)
    return fail(ExitCode::unavailable, "event {} is not available: {}", name, *reason);
  chosen.events.push_back(name);
  return {};
}

// "sched_*": matches built-in events only; the names of dynamic ones contain a colon.
Result<> Tracer::choose_built_in(const std::string& pattern, bool enabled, ChosenEvents& chosen) {
  bool found = false;
  for (const Event& event : schema_.events()) {
    if (is_dynamic(event) || !matches_pattern(event.name, pattern)) continue;
    found = true;
    if (!enabled || why_unavailable(event.name) == nullptr) chosen.events.push_back(event.name);
  }
  return found ? Result<>() : unknown_event(pattern);
}

// The error for a `name` that is no built-in event or group, and no group of tracepoints.
std::unexpected<Error> Tracer::unknown_event(const std::string& name) const {
  std::set<std::string> names;
  for (const Event& event : schema_.events()) {
    names.insert(event.name);
    names.insert(event.group);
  }
  if (const auto tracepoints = Tracepoints::all())
    for (const std::string& tracepoint : *tracepoints)
      names.insert(tracepoint.substr(0, tracepoint.find(':')));
  return fail(ExitCode::usage, "{}",
              unknown_name("event or group", name, names,
                           "'ktracectl events' lists the built-in ones, ktracectl events list "
                           "'*:*' the tracepoints"));
}

Result<std::vector<std::string>> Tracer::tracepoints_meant(const std::string& name) const {
  if (name.contains(':')) return tracepoints_.matching(name);
  if (is_pattern(name)) return unknown_event(name);
  auto found = tracepoints_.matching(name + ":*");
  return found ? found : unknown_event(name);
}

Result<> Tracer::choose_dynamic(const std::string& name, bool enabled, ChosenEvents& chosen) {
  const size_t before = chosen.events.size();
  for (const auto& [id, event] : dynamic_.all())
    if (matches_pattern(event->event.name, name) &&
        dynamic_.find(event->event.name)->event.id == id)
      if (!enabled || probe_list_.contains(event->event.name))
        chosen.events.push_back(event->event.name);
  if (chosen.events.size() != before && (!enabled || !is_pattern(name))) return {};
  if (enabled) {
    auto defined = define_tracepoints(name, chosen);
    return chosen.events.size() != before ? Result<>() : defined;
  }
  // Events that were never enabled need not be disabled, but must exist.
  auto known = tracepoints_.matching(name);
  return known ? Result<>() : propagate(known);
}

Result<> Tracer::define_tracepoints(const std::string& pattern, ChosenEvents& chosen) {
  auto names = tracepoints_.matching(pattern);
  if (!names) return propagate(names);
  std::vector<const DynamicEvent*> defined;
  for (const std::string& name : *names) {
    auto format = tracepoints_.format(name);
    auto event =
        format ? dynamic_.define(tracepoints_, std::move(format->event), name) : propagate(format);
    if (event) {
      chosen.events.push_back(name);
      defined.push_back(*event);
    } else if (is_pattern(pattern)) {
      chosen.skipped.emplace(name, event.error().message);
    } else {
      return propagate(event);
    }
  }
  take_definitions(defined);
  return {};
}

void Tracer::take_definitions(const std::vector<const DynamicEvent*>& events) {
  std::vector<std::byte> records;
  for (const DynamicEvent* event : events) {
    if (schema_.find(event->event.id) != nullptr) continue;
    {
      std::lock_guard lock(schema_mutex_);
      schema_.add(event->event);
    }
    const auto record = event_record(event->event, boottime_ns());
    records.insert(records.end(), record.begin(), record.end());
  }
  if (!records.empty()) drain_->announce(records);
}

// Unavailable events in the configuration do not keep the daemon from starting.
std::set<std::string> Tracer::events_of(const Config& config) {
  std::set<std::string> enabled;
  for (const std::string& event : config.events) {
    if (const std::string* reason = why_unavailable(event))
      spdlog::warn("event {} is not available: {}", event, *reason);
    enabled.insert(event);
  }
  ChosenEvents chosen;
  for (const std::string& pattern : config.tracepoints)
    if (auto found = define_tracepoints(pattern, chosen); !found)
      spdlog::warn("events.tracepoints: {}", found.error().message);
  for (const auto& [name, reason] : chosen.skipped)
    spdlog::warn("tracepoint {} is not recorded: {}", name, reason);
  enabled.insert(chosen.events.begin(), chosen.events.end());
  set_configured_probes(config.probes);
  for (const auto& [name, probe] : probe_list_)
    if (probe.id != 0) enabled.insert(name);
  return enabled;
}

uint64_t Tracer::missed(const Event& event) const {
  return is_dynamic(event) ? dynamic_.missed(event.id) : object_.missed(event.name);
}

}  // namespace ktraced
