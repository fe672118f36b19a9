// SPDX-License-Identifier: BSD-2-Clause
// The parts of the tracing core, tied together.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/capture/call_hooks.h"
#include "daemon/capture/reconciler.h"
#include "daemon/capture/session_control.h"
#include "daemon/capture/stack_hooks.h"
#include "daemon/capture/trace_config_history.h"
#include "daemon/capture/trace_metadata.h"
#include "daemon/capture/trace_status.h"
#include "daemon/config/config.h"
#include "daemon/events/event_list.h"
#include "daemon/events/event_selection.h"
#include "daemon/events/probe_lookup.h"
#include "daemon/programs/program_attacher.h"
#include "daemon/programs/task_tracking.h"
#include "daemon/runtime/uevent_watch.h"
#include "daemon/sessions/session_accounts.h"
#include "daemon/sessions/session_set.h"
#include "daemon/stream/rings.h"
#include "kernel/filters/filters.h"
#include "kernel/pins/ledger.h"
#include "kernel/programs/features.h"
#include "kernel/programs/persistence.h"

namespace ktraced {

// The sizes of the flight recorder in a configuration.
[[nodiscard]] BpfSizes sizes_of(const Config& config);
// Checks the memory limits for a start with this configuration that adopts no rings. Fails as
// check_memory_limit().
[[nodiscard]] Result<> check_start_memory(const Config& config);
// Gives a configuration these sizes. Returns the keys that had others.
std::vector<std::string> set_sizes(FlightConfig& flight, const BpfSizes& sizes);

// The parts of a tracer that others use; they live as long as it does. Each belongs to the main
// thread, except for functions that are marked otherwise.
struct TracerParts {
  const KernelFeatures& features;
  const Schema& schema;
  const Availability& availability;
  const Filters& filters;
  const Catchers& catchers;
  const StackHooks& stacks;
  Reconciler& reconciler;
  ProgramAttacher& attacher;
  EventSelection& events;
  EventResolver& resolver;
  EventList& event_list;
  ProbeRegistry& probes;
  ProbeLookup& probe_lookup;
  SessionSet& sessions;
  SessionControl& session_control;
  Rings& rings;
  const TraceMetadata& metadata;
  const TraceConfigHistory& trace_configs;
  const StatusReader& status;
  const std::vector<ReplacedObject>&
      replaced;             // what earlier daemons had left, when this one began
  bool persistent = false;  // everything outlives this daemon
};

// Owns everything that is in the kernel. A program is attached only while a session that records
// has its event on. So tracing costs nothing that was not requested. Belongs to the main thread,
// except for the functions of its parts that are marked otherwise.
class Tracer {
 public:
  // Loads the programs, or adopts those of an earlier daemon, and applies `config`. Fails as
  // check_memory_limit() before it loads anything, as check_memory() before it makes rings, except
  // those of an adopted output for CPUs that the earlier daemon did not have, and with
  // ExitCode::unavailable if a program that a filter needs cannot be attached. `publish_output`
  // gets the stream of the output, in the drain thread. `symbols` must outlive it.
  static Result<std::unique_ptr<Tracer>> create(Config config, KernelSymbols& symbols,
                                                SessionStream::Publish publish_output);
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer();

  // The flight recorder has the sizes of the earlier daemon whose programs were adopted, else those
  // of the first configuration. They never change.
  [[nodiscard]] BpfSizes sizes() const { return sizes_of(config_); }
  // Attaches what the filters of another configuration need, see Reconciler::prepare().
  void prepare_filters(const Config& config, ProgramAttacher::OnAttached then);
  // Applies another configuration with the same sizes, or fails and changes nothing. Returns the
  // sections that have changed. Once work_in() was called, prepare_filters() comes first.
  Result<std::vector<std::string>> apply(const Config& config);
  // Is there memory for all rings that apply() of this configuration makes, beside those that there
  // are? Fails as ktraced::check_memory_room().
  [[nodiscard]] Result<> check_memory(const Config& config) const;
  // Turns the flight recorder on or off. Fails as Rings::switch_flight(), or as
  // ktraced::check_memory_room().
  Result<> set_flight(bool enabled);
  // Handles loaded and unloaded modules: attaches probes on them again, and enables those of their
  // tracepoints that the configuration contains.
  void note_modules(const KernelChanges& changes);
  // Creates rings for CPUs that have come online.
  void add_new_cpus();
  // CPUs have come or gone: those that have come get rings, and samples are taken of all that are
  // online.
  void note_cpus();

  // From now on programs are attached and detached in slices, between the turns of this loop.
  void work_in(EventLoop& loop);
  // `callback` is called after each config change of the output from now on.
  void on_output_change(std::function<void(const Reconciler::SharedConfig&)> callback) {
    on_output_change_ = std::move(callback);
  }
  // Cancels all pending attaching and detaching.
  void drop_work();
  // Detaches and unpins everything. With `persist` all of it keeps running instead, for the next
  // daemon to adopt. The last call.
  void shut_down(bool persist);

  // The parts, for the code that changes or describes what is traced.
  [[nodiscard]] const TracerParts& parts() const { return parts_; }

 private:
  // What the programs count, mapped.
  struct Counts {
    Counters counters;
    Mapping catching;
  };
  Tracer(Schema schema, KernelFeatures features, AcquiredObject acquired, Counts counts,
         const Config& config, KernelSymbols& symbols);
  [[nodiscard]] SessionLedger::Kernel kernel_of_sessions();
  Result<> start(const Config& config, SessionStream::Publish publish_output);
  Result<> start_stream(const Config& config, SessionStream::Publish publish_output);
  Result<> change_kernel(const Config& config);
  Result<> switch_flight(bool enabled);
  [[nodiscard]] RingMemory new_flight_rings(const FlightConfig& config) const;
  void note_flight();
  void announce_config(uint32_t session, const Reconciler::SharedConfig& config, uint64_t ns);
  void detach_all();

  DirectoryLock pins_lock_;
  std::string unpinned_because_;
  std::vector<ReplacedObject> replaced_;
  bool adopted_;
  bool shut_down_ = false;
  Config config_;
  KernelFeatures features_;
  std::function<void(const Reconciler::SharedConfig&)> on_output_change_;
  BpfObject object_;
  Ledger ledger_;
  Availability availability_;
  Catchers catchers_;
  EventCatalog catalog_;
  EventSet enabled_;
  Rings rings_;
  ProgramBarrier barrier_;
  Filters filters_;
  SessionSet sessions_;
  CallHooks calls_;
  StackHooks stacks_;
  SessionLedger session_ledger_;
  SessionAccounts accounts_;
  KernelNames names_;
  TraceConfigHistory history_;
  TaskTracking tracking_;
  ProgramAttacher attacher_;
  Reconciler reconciler_;
  ProbeRegistry probes_;
  EventResolver resolver_;
  EventSelection selection_;
  EventList event_list_;
  TraceMetadata metadata_;
  SessionControl control_;  // its thread uses the members before it
  StatusReader status_;
  ProbeLookup probe_lookup_;  // its thread uses the members before it
  TracerParts parts_;
};

}  // namespace ktraced
