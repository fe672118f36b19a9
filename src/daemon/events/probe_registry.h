// SPDX-License-Identifier: BSD-2-Clause
// The kernel probes that were added and have not been removed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/events/event_catalog.h"
#include "daemon/programs/availability.h"
#include "daemon/programs/config_applier.h"
#include "daemon/programs/program_attacher.h"
#include "daemon/runtime/uevent_watch.h"
#include "kernel/probes/probe_grammar.h"

namespace ktraced {

// One probe as listed.
struct ProbeInfo {
  std::string definition;
  std::string event;
  uint16_t id = 0;     // of its event; 0: not available
  std::string reason;  // why it is not available
  std::string note;    // the option of the definition that has no effect, and why
  bool configured = false;
  bool misses_known = true;                    // whether this kernel counts missed hits of probes
  std::map<std::string, std::string> skipped;  // functions that cannot be probed, and why

  [[nodiscard]] bool available() const { return reason.empty() && id != 0; }
};

// Adds and removes probes. A probe is an event that is enabled as long as the probe is registered.
// Belongs to the main thread.
class ProbeRegistry {
 public:
  struct Entry {
    ProbeDefinition definition;
    uint16_t id = 0;     // of its event; 0: not available
    std::string reason;  // why it is not available
    bool configured = false;
  };
  // What adding probes has changed, to undo it.
  struct Change {
    std::map<std::string, Entry> probes_before;
    EventSet enabled_before;
    Availability::Reasons failures_before;
    std::vector<std::string> added;    // their events
    std::vector<std::string> removed;  // definitions
  };

  // All must outlive this. `enabled`: the enabled events; the registry adds and removes its own.
  ProbeRegistry(EventCatalog& catalog, Availability& availability, EventSet& enabled,
                ProgramAttacher& attacher, ConfigApplier& applier)
      : catalog_(catalog),
        availability_(availability),
        enabled_(enabled),
        attacher_(attacher),
        applier_(applier) {}

  // Adds kernel probes, given as lines of the grammar of kernel/probes/probe_grammar.h, which can
  // also remove probes; all or none. `progress` is called while a pattern is attached probe by
  // probe; it may be empty.
  Result<std::shared_ptr<Change>> add(const std::vector<ProbeCommand>& commands,
                                      Probes::Progress progress);
  // Call it when the probes of `change` are attached. Returns the added probes, or the error of the
  // first one that could not be attached: then the change is undone.
  Result<std::vector<ProbeInfo>> check_added(const Change& change);
  // Removes probes by name: "GROUP/EVENT", "EVENT" or "GROUP/". Returns their definitions.
  Result<std::vector<std::string>> remove(const std::vector<std::string>& names);
  // Removes all probes. Returns their definitions.
  std::vector<std::string> clear();

  // Replaces the probes of the configuration. Those already registered stay as they are, with their
  // counts.
  void set_configured(const std::vector<std::string>& lines);
  // Tries those of the configuration again that were not available: modules were loaded.
  void renew_configured();
  // Retires the probes on modules that were unloaded.
  void leave_modules(const KernelChanges& changes);

  // Tests whether a probe can be attached, even if there is no reader that needs it yet.
  void try_attach(const std::string& event);
  // Does so for all whose attaching has failed.
  void retry_failed();

  // All probes, by event.
  [[nodiscard]] const std::map<std::string, Entry>& entries() const { return entries_; }
  [[nodiscard]] std::vector<ProbeInfo> list() const;

 private:
  // The option of a definition that has no effect, and why; empty if there is none.
  static std::string note_on(const ProbeDefinition& probe);
  Result<std::shared_ptr<Change>> add(const std::vector<ProbeCommand>& commands);
  void undo(const Change& change);
  Result<> define(const ProbeDefinition& probe, bool configured);
  void define_configured(const std::vector<std::string>& lines);
  [[nodiscard]] std::map<std::string, std::string> drop_outdated(
      const std::map<std::string, ProbeDefinition>& configured);
  std::vector<std::string> drop(const ProbeRemoval& removal);
  void leave_module(const std::string& name, uint16_t id, const KernelChanges& changes);
  [[nodiscard]] std::vector<std::string> configured_kept() const;
  [[nodiscard]] std::string unknown(const std::string& name) const;
  [[nodiscard]] ProbeInfo info(const Entry& entry) const;

  EventCatalog& catalog_;
  Availability& availability_;
  EventSet& enabled_;
  ProgramAttacher& attacher_;
  ConfigApplier& applier_;
  std::map<std::string, Entry> entries_;  // by event
  std::vector<std::string> lines_;        // of the configuration
};

}  // namespace ktraced
