// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/events/event_resolver.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <memory>
#include <utility>

#include "base/text/suggest.h"

namespace ktraced {
namespace {

bool is_pattern(std::string_view name) {
  return name.find_first_of("*?[") != std::string_view::npos;
}

}  // namespace

Result<> EventResolver::choose(const std::string& name, bool enabled, ChosenEvents& chosen) {
  if (name.contains(':')) return choose_dynamic(name, enabled, chosen);
  const EventGroups groups = event_groups(catalog_.schema());
  if (auto group = groups.find(name); group != groups.end())
    return choose_group(group->second, enabled, chosen);
  if (is_pattern(name)) return choose_built_in(name, enabled, chosen);
  if (catalog_.schema().find(name) == nullptr) {
    auto found = choose_dynamic(name + ":*", enabled, chosen);
    return found ? found : unknown_event(name);
  }
  if (const std::string* reason = availability_.why_not(name); enabled && reason != nullptr)
    return fail(ExitCode::unavailable, "event {} is not available: {}", name, *reason);
  chosen.events.push_back(name);
  return {};
}

Result<> EventResolver::choose_group(const std::vector<std::string>& events, bool enabled,
                                     ChosenEvents& chosen) const {
  for (const std::string& event : events)
    if (!enabled || availability_.why_not(event) == nullptr) chosen.events.push_back(event);
  return {};
}

// "sched_*": matches built-in events only; the names of dynamic ones contain a colon.
Result<> EventResolver::choose_built_in(const std::string& pattern, bool enabled,
                                        ChosenEvents& chosen) const {
  std::vector<std::string> matching;
  for (const Event& event : catalog_.schema().events())
    if (!is_dynamic(event) && matches_pattern(event.name, pattern)) matching.push_back(event.name);
  return matching.empty() ? unknown_event(pattern) : choose_group(matching, enabled, chosen);
}

// The error for a `name` that is no built-in event or group, and no group of tracepoints.
std::unexpected<Error> EventResolver::unknown_event(const std::string& name) const {
  std::set<std::string> names;
  for (const Event& event : catalog_.schema().events()) {
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

Result<std::vector<std::string>> EventResolver::matching_tracepoints(
    const std::string& name) const {
  const Tracepoints& tracepoints = catalog_.tracepoints();
  if (name.contains(':')) return tracepoints.matching(name);
  if (is_pattern(name)) return unknown_event(name);
  auto found = tracepoints.matching(name + ":*");
  return found ? found : unknown_event(name);
}

Result<> EventResolver::choose_dynamic(const std::string& name, bool enabled,
                                       ChosenEvents& chosen) {
  const size_t before = chosen.events.size();
  const DynamicEvents& dynamic = catalog_.dynamic();
  for (const auto& [id, event] : dynamic.all())
    if (matches_pattern(event->event.name, name) && dynamic.find(event->event.name)->event.id == id)
      if (!enabled || probes_.entries().contains(event->event.name))
        chosen.events.push_back(event->event.name);
  if (chosen.events.size() != before && (!enabled || !is_pattern(name))) return {};
  if (enabled) {
    auto defined = define_tracepoints(name, chosen);
    return chosen.events.size() != before ? Result<>() : defined;
  }
  // Events that were never enabled need not be disabled, but must exist.
  auto known = catalog_.tracepoints().matching(name);
  return known ? Result<>() : propagate(known);
}

Result<> EventResolver::define_tracepoints(const std::string& pattern, ChosenEvents& chosen) {
  Tracepoints& tracepoints = catalog_.tracepoints();
  auto names = tracepoints.matching(pattern);
  if (!names) return propagate(names);
  std::vector<const DynamicEvent*> defined;
  for (const std::string& name : *names) {
    auto format = tracepoints.format(name);
    auto event = format ? catalog_.dynamic().define(tracepoints, std::move(format->event), name)
                        : propagate(format);
    if (event) {
      chosen.events.push_back(name);
      defined.push_back(*event);
    } else if (is_pattern(pattern)) {
      chosen.skipped.emplace(name, event.error().message);
    } else {
      return propagate(event);
    }
  }
  catalog_.add_defined(defined);
  return {};
}

void EventResolver::prepare_tracepoints(const std::vector<std::string>& names, OnPrepared then) {
  const EventGroups groups = event_groups(catalog_.schema());
  std::vector<std::string> dynamic;
  std::ranges::copy_if(names, std::back_inserter(dynamic), [&](const std::string& name) {
    return name.contains(':') ||
           (!groups.contains(name) && catalog_.schema().find(name) == nullptr);
  });
  visit_tracepoints(
      defining_, dynamic,
      [this](const std::string& name) {
        ChosenEvents ignored;  // failures are reported when an event is enabled
        static_cast<void>(define_tracepoints(name, ignored));
      },
      [then = std::move(then)](const Tracepoints::Kept& kept, const Result<>&) { then(kept); });
}

void EventResolver::visit_tracepoints(SlicedWork& work, const std::vector<std::string>& patterns,
                                      std::function<void(const std::string& name)> visit,
                                      OnVisited then) {
  struct Visit {
    Tracepoints::Kept kept;
    std::deque<std::string> patterns;
    std::set<std::string> found;
    Result<> result;
  };
  auto state = std::make_shared<Visit>(
      Visit{catalog_.tracepoints().keep_formats(), {patterns.begin(), patterns.end()}, {}, {}});
  work.start(
      [this, state, visit = std::move(visit)] {
        if (!state->patterns.empty()) {
          const auto matching = matching_tracepoints(state->patterns.front());
          state->patterns.pop_front();
          if (matching)
            state->found.insert(matching->begin(), matching->end());
          else if (state->result)
            state->result = std::unexpected(matching.error());
          return SlicedWork::Step::more;
        }
        if (state->found.empty()) return SlicedWork::Step::done;
        visit(state->found.extract(state->found.begin()).value());
        return SlicedWork::Step::more;
      },
      [state, then = std::move(then)] { then(state->kept, state->result); });
}

}  // namespace ktraced
