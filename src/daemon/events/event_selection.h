// SPDX-License-Identifier: BSD-2-Clause
// Which events are enabled.
#pragma once

#include <optional>
#include <set>
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
  // The sets that this changes.
  struct Sets {
    EventSet& recorder;  // the registry of probes adds its events to it
    std::optional<EventSet>& output;
  };
  // All must outlive this.
  EventSelection(EventCatalog& catalog, Availability& availability, Sets sets,
                 EventResolver& resolver, ProbeRegistry& probes, ConfigApplier& applier)
      : catalog_(catalog),
        availability_(availability),
        enabled_(sets.recorder),
        output_(sets.output),
        resolver_(resolver),
        probes_(probes),
        applier_(applier) {}

  // The events of the recorder now. Some may not be available.
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

  // Which sets a call has changed.
  struct Changed {
    bool recorder = false;
    bool output = false;
  };
  // Enables what a configuration contains and nothing else; the caller reconciles. Without an
  // output in the configuration, its events stay. Unavailable events are logged.
  Changed apply(const Config& config);
  // Modules were loaded or unloaded: enables new tracepoints that the configuration contains and
  // disables those that are gone. What users have enabled or disabled stays so otherwise. The
  // caller reconciles.
  void note_tracepoints();

 private:
  [[nodiscard]] EventSet recorder_events(const Config& config);
  [[nodiscard]] EventSet output_events(const EventsConfig& config);
  void add_built_in(const EventsConfig& config, EventSet& events) const;
  void note_tracepoints(const std::set<std::string>& existing, ConfiguredTracepoints& configured,
                        EventSet& set);
  [[nodiscard]] std::set<std::string> existing_tracepoints(bool configured) const;
  std::vector<std::string> disable_missing(const std::set<std::string>& existing, EventSet& set);

  EventCatalog& catalog_;
  Availability& availability_;
  EventSet& enabled_;
  std::optional<EventSet>& output_;
  EventResolver& resolver_;
  ProbeRegistry& probes_;
  ConfigApplier& applier_;
  ConfiguredTracepoints configured_;
  ConfiguredTracepoints output_configured_;
};

}  // namespace ktraced
