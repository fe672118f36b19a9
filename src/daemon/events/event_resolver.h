// SPDX-License-Identifier: BSD-2-Clause
// From names, groups and patterns to events.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/events/event_catalog.h"
#include "daemon/events/probe_registry.h"
#include "daemon/programs/availability.h"
#include "daemon/runtime/sliced_work.h"

namespace ktraced {

// The result of enabling or disabling events by name.
struct ChosenEvents {
  std::vector<std::string> events;
  // Events that match a pattern but are not available, and why.
  std::map<std::string, std::string> skipped;
};

// Resolves names as users write them, and defines the tracepoints among them. Belongs to the main
// thread.
class EventResolver {
 public:
  // All must outlive this.
  EventResolver(EventCatalog& catalog, const Availability& availability,
                const ProbeRegistry& probes)
      : catalog_(catalog), availability_(availability), probes_(probes) {}

  void work_in(EventLoop& loop) { defining_.work_in(loop); }

  // Adds the events that a name, group or pattern ("sched_*", "irq:*") stands for, to enable or to
  // disable them. Fails with ExitCode::usage for an unknown name, and with ExitCode::unavailable
  // for an event that this kernel does not have. To enable, a group or pattern stands for its
  // available events.
  Result<> choose(const std::string& name, bool enabled, ChosenEvents& chosen);
  // Defines the tracepoints that match a pattern, and adds them. Fails with ExitCode::usage if none
  // matches, and with ExitCode::unavailable if tracefs is missing. Those without a description are
  // left out.
  Result<> define_tracepoints(const std::string& pattern, ChosenEvents& chosen);
  // Defines, in slices, the tracepoints that match the patterns among `names`, then calls back.
  // Enabling them is fast as long as a copy of `kept` lives. Commands do it one at a time.
  using OnPrepared = std::function<void(const Tracepoints::Kept& kept)>;
  void prepare_tracepoints(const std::vector<std::string>& names, OnPrepared then);

  // Calls `visit` in slices, with the name of each tracepoint that matches, then `then`. `result`
  // fails if one of the patterns matches nothing.
  using OnVisited = std::function<void(const Tracepoints::Kept& kept, const Result<>& result)>;
  void visit_tracepoints(SlicedWork& work, const std::vector<std::string>& patterns,
                         std::function<void(const std::string& name)> visit, OnVisited then);

 private:
  Result<> choose_group(const std::vector<std::string>& events, bool enabled,
                        ChosenEvents& chosen) const;
  Result<> choose_built_in(const std::string& pattern, bool enabled, ChosenEvents& chosen) const;
  Result<> choose_dynamic(const std::string& name, bool enabled, ChosenEvents& chosen);
  [[nodiscard]] std::unexpected<Error> unknown_event(const std::string& name) const;
  // Tracepoints by name, pattern ("irq:*") or group ("irq").
  [[nodiscard]] Result<std::vector<std::string>> matching_tracepoints(
      const std::string& name) const;

  EventCatalog& catalog_;
  const Availability& availability_;
  const ProbeRegistry& probes_;
  SlicedWork defining_;
};

}  // namespace ktraced
