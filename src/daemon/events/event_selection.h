// SPDX-License-Identifier: BSD-2-Clause
// Which events are enabled.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "daemon/config/config.h"
#include "daemon/events/configured_tracepoints.h"
#include "daemon/events/event_resolver.h"
#include "daemon/programs/config_applier.h"

namespace ktraced {

// Enables and disables events: as the configuration contains them, by command, and when modules
// come and go. Belongs to the main thread.
class EventSelection {
 public:
  // All must outlive this. `enabled`: the set that this changes; the registry of probes adds its
  // events to it.
  EventSelection(EventCatalog& catalog, Availability& availability, EventSet& enabled,
                 EventResolver& resolver, ProbeRegistry& probes, ConfigApplier& applier)
      : catalog_(catalog),
        availability_(availability),
        enabled_(enabled),
        resolver_(resolver),
        probes_(probes),
        applier_(applier) {}

  // The events enabled now. Some may not be available.
  [[nodiscard]] const EventSet& enabled() const { return enabled_; }

  // Enables or disables events of a set, by name, by group or by pattern ("sched_*", "irq:*"), all
  // or none. Fails as EventResolver::choose().
  Result<ChosenEvents> set_enabled(const std::vector<std::string>& names, bool enabled,
                                   EventSet& set);
  Result<ChosenEvents> set_enabled(const std::vector<std::string>& names, bool enabled) {
    return set_enabled(names, enabled, enabled_);
  }
  // To be called when the events of set_enabled() are attached: returns the result. Fails with
  // ExitCode::unavailable if one of `names` could not be attached.
  Result<ChosenEvents> check_enabled(const std::vector<std::string>& names, ChosenEvents chosen,
                                     EventSet& set);
  Result<ChosenEvents> check_enabled(const std::vector<std::string>& names, ChosenEvents chosen) {
    return check_enabled(names, std::move(chosen), enabled_);
  }

  // Enables what a configuration contains and nothing else; the caller reconciles. Returns true if
  // that changes anything. Unavailable events are logged.
  bool apply(const Config& config);
  // Modules were loaded or unloaded: enables new tracepoints that the configuration contains and
  // disables those that are gone. What users have enabled or disabled stays so otherwise. The
  // caller reconciles.
  void note_tracepoints();

 private:
  [[nodiscard]] EventSet events_of(const Config& config);
  [[nodiscard]] std::set<std::string> existing_tracepoints(bool configured) const;
  std::vector<std::string> disable_missing(const std::set<std::string>& existing);

  EventCatalog& catalog_;
  Availability& availability_;
  EventSet& enabled_;
  EventResolver& resolver_;
  ProbeRegistry& probes_;
  ConfigApplier& applier_;
  ConfiguredTracepoints configured_;
};

}  // namespace ktraced
