// SPDX-License-Identifier: BSD-2-Clause
// The tracing core: what is traced, put into force in the kernel.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/config.h"
#include "daemon/drain.h"
#include "daemon/missed_hits.h"
#include "daemon/sliced_work.h"
#include "daemon/trace_config_history.h"
#include "daemon/uevent_watch.h"
#include "kernel/bpf_object.h"
#include "kernel/counters.h"
#include "kernel/dynamic_events.h"
#include "kernel/features.h"
#include "kernel/filters.h"
#include "kernel/flight_recorder.h"
#include "kernel/kernel_names.h"
#include "kernel/persistence.h"
#include "kernel/probes.h"
#include "kernel/stream_rings.h"
#include "kernel/tracepoints.h"
#include "schema/schema.h"
#include "trace/manifest.h"

namespace ktraced {

// What came of enabling or disabling events by name.
struct ChosenEvents {
  std::vector<std::string> events;
  // Of a pattern: events that cannot be had, and why.
  std::map<std::string, std::string> skipped;
};

// Owns everything that is in the kernel. Programs are attached only while their
// event is enabled and its records go somewhere, to a reader of the stream or into the
// flight recorder: a trace costs what was asked for, and nothing else. Belongs to the
// main thread.
class Tracer {
 public:
  // Loads the programs, or takes over those of an earlier daemon, and puts `config` into
  // force. `publish` is called in the drain thread.
  // `symbols` must outlive it.
  static Result<std::unique_ptr<Tracer>> create(const Config& config, KernelSymbols& symbols,
                                                Drain::Publish publish);
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer();

  // Puts another configuration into force, or fails and changes nothing. Returns the
  // sections that have changed.
  Result<std::vector<std::string>> apply(const Config& config);

  // Enables or disables events by name, by group or by pattern ("sched_*", "irq:*"), all or none:
  // ExitCode::usage for an unknown name, ExitCode::unavailable for an event this kernel does not
  // have. Of a group or pattern what is available is taken.
  Result<ChosenEvents> set_enabled(const std::vector<std::string>& names, bool enabled);
  // When what set_enabled() has enabled is attached: what came of it. Fails with
  // ExitCode::unavailable if one of `names` could not be attached.
  Result<ChosenEvents> check_enabled(const std::vector<std::string>& names, ChosenEvents chosen);
  // Defines in slices the tracepoints that match the patterns among `names`, and calls back:
  // enabling them takes no time as long as a copy of `kept` lives.
  using OnPrepared = std::function<void(const Tracepoints::Kept& kept)>;
  void prepare_tracepoints(const std::vector<std::string>& names, OnPrepared then);
  // Reads them only, for events().
  void read_tracepoints(const std::vector<std::string>& names, OnPrepared then);
  // A dynamic event has been defined: tells everybody who reads its records what it is, before
  // there are any.
  void take_definitions(const std::vector<const DynamicEvent*>& events);

  // A probe that was added and not removed since.
  struct ProbeEntry {
    ProbeDefinition definition;
    uint16_t id = 0;     // of its event; 0: it is not available
    std::string reason;  // why
    bool configured = false;
  };
  // What adding some has changed, to undo it.
  struct ProbeChange {
    std::map<std::string, ProbeEntry> list_before;
    std::set<std::string> enabled_before;
    std::map<std::string, std::string> failures_before;
    std::vector<std::string> added;  // their events
    nlohmann::json removed = nlohmann::json::array();
  };
  // Kernel probes: lines of the grammar of kernel/probe_grammar.h, which also remove; all or
  // none. `progress` is called while a pattern is set that is set one by one; it may be empty.
  Result<std::shared_ptr<ProbeChange>> add_probes(const std::string& text,
                                                  Probes::Progress progress = {});
  // When they are attached: {"added":[as in probes()],"removed":[definitions]}, or an error.
  Result<nlohmann::json> check_added(const ProbeChange& change);
  // By name: "GROUP/EVENT", "EVENT" or "GROUP/". Returns {"removed":[definitions]}.
  Result<nlohmann::json> remove_probes(const std::vector<std::string>& names);
  nlohmann::json clear_probes();
  // {"probes":[…]}, and "reason" if this kernel can have none.
  [[nodiscard]] nlohmann::json probes() const;

  // Fails as Filters::apply(), and with ExitCode::unavailable while another filter is on loan.
  Result<> set_filter(const FilterSettings& settings);
  [[nodiscard]] const FilterSettings& filter() const { return filters_.current(); }
  // Whose filter is in force for a while.
  struct Borrower {
    const void* key = nullptr;  // tells borrowers apart
    pid_t pid = 0;
    uid_t uid = 0;
  };
  // Puts a filter into force until it is given back; the same borrower may change it. Fails as
  // set_filter(). Followed processes of the filter before are followed on meanwhile.
  Result<> lend_filter(const FilterSettings& settings, const Borrower& borrower);
  // Puts back the filter that was there before, or that the configuration has set since; nothing
  // if this borrower has none.
  void give_filter_back(const void* borrower);
  // For `filter.show` and `status`: who has borrowed it, and what will be put back; or null.
  [[nodiscard]] nlohmann::json filter_loan() const;

  // From now on programs are attached and detached in slices between the turns of this loop.
  void work_in(EventLoop& loop);
  // Calls back, perhaps at once, when everything that is wanted is attached, or was tried; with
  // ExitCode::unavailable when the daemon ends before.
  using OnAttached = std::function<void(const Result<>& attached)>;
  void when_attached(OnAttached then);
  // What is still to be attached or detached is not.
  void drop_work();

  void set_paused(bool paused);
  [[nodiscard]] bool paused() const { return paused_; }
  // Unread records of an earlier daemon wait for the first reader who wants them.
  [[nodiscard]] bool has_backlog() const { return !streaming_ && drain_->has_backlog(); }
  // Another reader is about to be added: it gets only what happens from now on.
  void prepare_reader();
  // Subscribers begin, or none goes on, to read the stream.
  void set_streaming(bool streaming);
  // The stream flows as if there were a subscriber, as long as a copy lives.
  [[nodiscard]] std::shared_ptr<void> expect_reader();
  // So does who writes it to files. Returns, when turned off, with everything up to now published;
  // when turned on, the stream flows with the next request_pass().
  void set_recording(bool recording);
  // Turns the flight recorder on or off. Fails with ExitCode::os, or ExitCode::unavailable
  // while a snapshot is being written.
  Result<> set_flight(bool enabled);
  [[nodiscard]] FlightRecorder& flight() { return flight_; }
  void request_pass() { drain_->request_pass(); }
  // What reset() has discarded, in records.
  struct Discarded {
    uint64_t unread = 0;   // in the stream rings
    uint64_t history = 0;  // in the flight recorder
  };
  // Empties the stream rings and, unless `keep_history`, the flight recorder, and sets the
  // counters to zero. Fails with ExitCode::unavailable, and changes nothing, while the flight
  // recorder has no spare bank.
  Result<Discarded> reset(bool keep_history);
  // Gives rings to CPUs that have come online.
  void look_for_new_cpus();
  // Modules have come or gone: sets probes again that were on them, and enables what the
  // configuration asks for of their tracepoints.
  void note_modules(const KernelChanges& changes);
  // When what that has changed is attached.
  void check_modules();
  // What happened on such CPUs before the flight recorder had a ring for it, by CPU: what no
  // snapshot has told yet, until one has. It outlives the daemon.
  [[nodiscard]] LostByCpu flight_misses() const;
  void tell_flight_misses(const LostByCpu& lost);
  // Detaches and unpins everything; with `persist` leaves all of it running instead, for the
  // next daemon to take over. The last call.
  void shut_down(bool persist);

  // All names known now and those of a moment ago: as name records, or as a first pass for a new
  // reader. Thread-safe.
  [[nodiscard]] std::vector<std::byte> name_records() const;
  // All names known of the time since `ns`.
  [[nodiscard]] KernelNames::History names_since(uint64_t ns) const;
  [[nodiscard]] std::vector<PacketBytes> names_packets() const;
  // A manifest with what the tracer knows: origin, schema, configuration. Thread-safe.
  [[nodiscard]] Manifest manifest() const;
  // Hits that the kernel has skipped so far, by event, if there are any. Thread-safe.
  [[nodiscard]] HitCounts missed() const;
  // Processes that could not be followed so far. Thread-safe.
  [[nodiscard]] uint64_t follow_lost() const { return filters_.follow_lost(); }
  // What is traced now, for a manifest's `config`. Thread-safe.
  using InForce = TraceConfigHistory::Config;
  [[nodiscard]] InForce in_force() const { return trace_configs_.current(); }
  // What was traced before, also by earlier daemons.
  [[nodiscard]] const TraceConfigHistory& trace_configs() const { return trace_configs_; }
  // Called whenever that has changed, from now on.
  void on_change(std::function<void(const InForce&)> callback) { on_change_ = std::move(callback); }

  [[nodiscard]] const Schema& schema() const { return schema_; }
  [[nodiscard]] const Uuid& uuid() const { return uuid_; }
  [[nodiscard]] const std::string& kernel_release() const { return kernel_release_; }

  // For the methods `status` and `events.list`.
  [[nodiscard]] nlohmann::json status() const;
  // Lists also the tracepoints that match the patterns, whether they are enabled or not.
  [[nodiscard]] Result<nlohmann::json> events(const std::vector<std::string>& patterns) const;

 private:
  Result<std::shared_ptr<ProbeChange>> add_probes(const std::vector<ProbeCommand>& commands);
  void undo(const ProbeChange& change);
  // Sizes of the flight recorder that a configuration asks for.
  [[nodiscard]] static BpfSizes sizes(const Config& config);

  struct Baseline {
    std::vector<EventCounts> per_cpu;
    uint64_t missed = 0;
    uint64_t overwritten = 0;
  };

  Tracer(Schema schema, AcquiredObject acquired, Counters counters, const Config& config,
         KernelSymbols& symbols);
  Result<> open_rings();
  [[nodiscard]] std::vector<uint32_t> traced_cpus() const;
  void begin_recording();
  void stream_to_readers();
  Result<> switch_flight(bool enabled);
  Result<> put_lasting_filter(const FilterSettings& settings);
  [[nodiscard]] const FilterSettings& lasting_filter() const {
    return loan_ ? loan_->lasting : filters_.current();
  }
  void reconcile();
  [[nodiscard]] bool names_kept() const;
  // To be called once all programs that keep names are attached again.
  void check_names() const { names_.check(); }
  void note_in_force();
  [[nodiscard]] std::set<std::string> traced_events() const;
  // Those of tracer_attach.cpp.
  struct ProgramChange {
    std::string program;      // its event's name, if it has one
    uint16_t dynamic_id = 0;  // 0: built in
    bool attach = false;
  };
  SlicedWork::Step change_next();
  void visit_tracepoints(SlicedWork& work, const std::vector<std::string>& names,
                         std::function<void(const std::string& name)> visit, OnPrepared then);
  [[nodiscard]] bool detaching(const ProgramChange& change);
  void make(const ProgramChange& change);
  void attach_followers();
  void on_attached();
  void call_waiting();
  void detach_all();
  void note_attach(const std::string& event, const Result<>& attached);
  Result<> choose(const std::string& name, bool enabled, ChosenEvents& chosen);
  Result<> choose_built_in(const std::string& pattern, bool enabled, ChosenEvents& chosen);
  Result<> choose_dynamic(const std::string& name, bool enabled, ChosenEvents& chosen);
  Result<> define_tracepoints(const std::string& pattern, ChosenEvents& chosen);
  [[nodiscard]] std::unexpected<Error> unknown_event(const std::string& name) const;
  // Tracepoints by name, pattern ("irq:*") or group ("irq").
  [[nodiscard]] Result<std::vector<std::string>> tracepoints_meant(const std::string& name) const;
  Result<> define_probe(const ProbeDefinition& probe, bool configured);
  void try_probe(const std::string& name);
  void leave_module(const std::string& name, uint16_t id, const KernelChanges& changes);
  void note_tracepoints();
  [[nodiscard]] std::vector<std::string> configured_probes_kept() const;
  [[nodiscard]] std::set<std::string> tracepoints_to_note() const;
  [[nodiscard]] std::set<std::string> configured_among(const std::set<std::string>& names) const;
  [[nodiscard]] std::string unknown_probe(const std::string& name) const;
  std::vector<std::string> forget_probes(const ProbeRemoval& removal);
  void set_configured_probes(const std::vector<std::string>& lines);
  [[nodiscard]] nlohmann::json probe_status(const ProbeEntry& probe) const;
  [[nodiscard]] std::set<std::string> events_of(const Config& config);
  [[nodiscard]] uint64_t missed(const Event& event) const;
  void set_syscalls(const std::vector<std::string>& names);
  [[nodiscard]] const std::string* why_unavailable(const std::string& event) const;
  [[nodiscard]] EventCounts counts_of(uint32_t cpu, uint16_t event) const;
  [[nodiscard]] nlohmann::json event_status(const Event& event, uint64_t overwritten) const;
  [[nodiscard]] bool is_unused(const Event& event) const;
  [[nodiscard]] nlohmann::json list_entry(const Event& event) const;
  [[nodiscard]] nlohmann::json stream_status() const;
  [[nodiscard]] nlohmann::json flight_status(const FlightRecorder::Reach& reach) const;

  mutable std::mutex schema_mutex_;  // for other threads; only the main thread changes schema_
  Schema schema_;
  DirectoryLock pins_lock_;
  std::string unpinned_because_;
  bool adopted_;
  BpfObject object_;
  Tracepoints tracepoints_;
  Probes probes_;
  DynamicEvents dynamic_;
  Counters counters_;
  Filters filters_;
  KernelNames names_;
  StreamRings rings_;
  FlightRecorder flight_;
  Uuid uuid_;
  std::string kernel_release_;
  Config config_;
  struct FilterLoan {
    Borrower borrower;
    FilterSettings lasting;  // to be put back
  };
  std::optional<FilterLoan> loan_;
  std::set<std::string> enabled_;
  std::set<std::string> configured_tracepoints_;        // that there were when it was last looked
  std::map<std::string, ProbeEntry> probe_list_;        // by event
  std::map<std::string, std::string> attach_failures_;  // event → reason
  std::map<uint16_t, Baseline> baselines_;              // counts at the last reset
  TraceConfigHistory trace_configs_;
  std::function<void(const InForce&)> on_change_;
  bool paused_ = false;
  bool subscribed_ = false;
  bool recording_ = false;
  size_t expected_readers_ = 0;
  bool streaming_ = false;  // any of them
  bool shut_down_ = false;
  EventLoop* loop_ = nullptr;
  std::deque<ProgramChange> to_change_;
  std::optional<TraceConfigHistory::Change> changing_;  // while there are some
  bool names_begin_ = false;                            // names_.check() is due
  std::vector<OnAttached> waiting_;
  SlicedWork attaching_;
  SlicedWork preparing_;          // for commands, which come one after another
  SlicedWork reading_;            // for queries, likewise
  std::unique_ptr<Drain> drain_;  // last: its thread uses the rest
};

// Events by group, for the configuration.
[[nodiscard]] EventGroups event_groups(const Schema& schema);

}  // namespace ktraced
