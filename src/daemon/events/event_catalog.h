// SPDX-License-Identifier: BSD-2-Clause
// The events that exist: built in, or defined while the daemon runs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "daemon/config/config.h"
#include "kernel/calls/call_programs.h"
#include "kernel/catchers/catchers.h"
#include "kernel/probes/probes.h"
#include "kernel/programs/bpf_object.h"
#include "kernel/programs/dynamic_events.h"
#include "kernel/stacks/stack_programs.h"
#include "kernel/tracepoints/tracepoints.h"
#include "schema/schema.h"

namespace ktraced {

// Names of events.
using EventSet = std::set<std::string>;

// Owns the schema and the dynamic events. Belongs to the main thread, except for the functions
// marked otherwise.
class EventCatalog {
 public:
  // Adopts the dynamic events of an earlier daemon. All but `schema` must outlive this.
  EventCatalog(Schema schema, const BpfObject& object, const Ledger& ledger,
               const Catchers& catchers, KernelSymbols& symbols);
  EventCatalog(const EventCatalog&) = delete;
  EventCatalog& operator=(const EventCatalog&) = delete;

  [[nodiscard]] const Schema& schema() const { return schema_; }
  // Thread-safe.
  [[nodiscard]] Schema schema_copy() const;

  [[nodiscard]] Tracepoints& tracepoints() { return tracepoints_; }
  [[nodiscard]] const Tracepoints& tracepoints() const { return tracepoints_; }
  [[nodiscard]] Probes& probes() { return probes_; }
  // Programs that record sys_enter and sys_exit in the place of those of the tracepoints.
  [[nodiscard]] CallPrograms& calls() { return calls_; }
  // Programs that record events with stacks.
  [[nodiscard]] StackPrograms& stacks() { return stacks_; }
  [[nodiscard]] const StackPrograms& stacks() const { return stacks_; }
  [[nodiscard]] DynamicEvents& dynamic() { return dynamic_; }
  [[nodiscard]] const DynamicEvents& dynamic() const { return dynamic_; }
  // The newest definition of a tracepoint; null if `name` is none, or was never defined.
  [[nodiscard]] const DynamicEvent* tracepoint(const std::string& name) const;

  // Metadata records go to `announce` from now on.
  using Announce = std::function<void(std::span<const std::byte> records)>;
  void announce_with(Announce announce) { announce_ = std::move(announce); }
  // Announces newly defined dynamic events to all readers, before there are records of them.
  void add_defined(const std::vector<const DynamicEvent*>& events);
  // The definitions of all dynamic events as metadata records.
  [[nodiscard]] std::vector<std::byte> definitions() const;

  // Is a program of it attached that records it for any session? Without those at functions.
  [[nodiscard]] bool attached(const Event& event) const;
  // Hits that the kernel has missed so far at the program of an event, and that its catcher has not
  // recorded; sum of all CPUs. Never decreases, except by hits that a catcher is recording.
  // Thread-safe.
  [[nodiscard]] uint64_t missed(uint16_t event) const;
  // What the kernel has measured of all programs while its statistics were on.
  [[nodiscard]] RunsByProgram runs() const;
  // The sums of such a count by name, for all events, without zeros. Thread-safe.
  using CountOf = std::function<uint64_t(const Event& event)>;
  [[nodiscard]] std::map<std::string, uint64_t> sums(const CountOf& count) const;

 private:
  mutable std::mutex schema_mutex_;  // for other threads; only the main thread changes schema_
  Schema schema_;
  std::map<uint16_t, std::string> built_in_;  // names by id; never changes
  const BpfObject& object_;
  const Catchers& catchers_;
  Tracepoints tracepoints_;
  Probes probes_;
  DynamicEvents dynamic_;
  CallPrograms calls_;
  StackPrograms stacks_;
  Announce announce_;
};

// Built-in events by group, for the configuration.
[[nodiscard]] EventGroups event_groups(const Schema& schema);

}  // namespace ktraced
