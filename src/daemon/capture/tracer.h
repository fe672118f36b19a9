// SPDX-License-Identifier: BSD-2-Clause
// The tracing core: applies the trace config to the kernel.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "daemon/capture/drain.h"
#include "daemon/capture/missed_hits.h"
#include "daemon/capture/trace_config_history.h"
#include "daemon/config/config.h"
#include "daemon/runtime/background_work.h"
#include "daemon/runtime/sliced_work.h"
#include "daemon/runtime/uevent_watch.h"
#include "kernel/filters/filters.h"
#include "kernel/probes/probe_grammar.h"
#include "kernel/probes/probes.h"
#include "kernel/programs/bpf_object.h"
#include "kernel/programs/dynamic_events.h"
#include "kernel/programs/features.h"
#include "kernel/programs/persistence.h"
#include "kernel/rings/counters.h"
#include "kernel/rings/flight_recorder.h"
#include "kernel/rings/stream_rings.h"
#include "kernel/symbols/kernel_names.h"
#include "kernel/tracepoints/tracepoints.h"
#include "schema/schema.h"
#include "trace/directory/manifest.h"

namespace ktraced {

// The result of enabling or disabling events by name.
struct ChosenEvents {
  std::vector<std::string> events;
  // For a pattern: events that are not available, and why.
  std::map<std::string, std::string> skipped;
};

// Owns everything that is in the kernel. A program is attached only while its event is enabled and
// its records have a destination: a reader of the stream or the flight recorder. So tracing costs
// nothing that was not requested. Belongs to the main thread.
class Tracer {
 public:
  // Loads the programs, or adopts those of an earlier daemon, and applies `config`. `publish` is
  // called in the drain thread. `symbols` must outlive it.
  static Result<std::unique_ptr<Tracer>> create(const Config& config, KernelSymbols& symbols,
                                                Drain::Publish publish);
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer();

  // Applies another configuration, or fails and changes nothing. Returns the sections that have
  // changed.
  Result<std::vector<std::string>> apply(const Config& config);

  // Enables or disables events by name, by group or by pattern ("sched_*", "irq:*"), all or none.
  // Fails with ExitCode::usage for an unknown name, and with ExitCode::unavailable for an event
  // that this kernel does not have. A group or pattern stands for its available events.
  Result<ChosenEvents> set_enabled(const std::vector<std::string>& names, bool enabled);
  // Called when the events of set_enabled() are attached: returns the result. Fails with
  // ExitCode::unavailable if one of `names` could not be attached.
  Result<ChosenEvents> check_enabled(const std::vector<std::string>& names, ChosenEvents chosen);
  // Defines, in slices, the tracepoints that match the patterns among `names`, then calls back.
  // Enabling them is fast as long as a copy of `kept` lives.
  using OnPrepared = std::function<void(const Tracepoints::Kept& kept)>;
  void prepare_tracepoints(const std::vector<std::string>& names, OnPrepared then);
  // For the method `events.list`: {"events":[…]} as text, built in slices. Also lists the
  // tracepoints that match the patterns, enabled or not.
  using OnListed = std::function<void(const Result<std::string>& text)>;
  void list_events(const std::vector<std::string>& patterns, OnListed then);
  // Announces newly defined dynamic events to all readers, before there are records of them.
  void take_definitions(const std::vector<const DynamicEvent*>& events);

  // A probe that was added and has not been removed.
  struct ProbeEntry {
    ProbeDefinition definition;
    uint16_t id = 0;     // of its event; 0: not available
    std::string reason;  // why it is not available
    bool configured = false;
  };
  // What adding probes has changed, to undo it.
  struct ProbeChange {
    std::map<std::string, ProbeEntry> list_before;
    std::set<std::string> enabled_before;
    std::map<std::string, std::string> failures_before;
    std::vector<std::string> added;  // their events
    nlohmann::json removed = nlohmann::json::array();
  };
  // Adds kernel probes, given as lines of the grammar of kernel/probes/probe_grammar.h, which can
  // also remove probes; all or none. `progress` is called while a pattern is attached probe by
  // probe; it may be empty.
  Result<std::shared_ptr<ProbeChange>> add_probes(const std::vector<ProbeCommand>& commands,
                                                  Probes::Progress progress);
  // Looks definitions up in a separate thread, defines them in slices, and calls back. Adding them
  // is fast as long as a copy of `kept` lives. Fails with ExitCode::unavailable when the daemon
  // ends before.
  using OnLookedUp = std::function<void(const Result<Probes::Kept>& kept)>;
  void prepare_probes(std::vector<ProbeDefinition> probes, OnLookedUp then);
  // The same for the definitions of a configuration that have not been added yet.
  void prepare_probes(const std::vector<std::string>& lines, OnLookedUp then);
  // Called when they are attached: {"added":[as in probes()],"removed":[definitions]}, or an error.
  Result<nlohmann::json> check_added(const ProbeChange& change);
  // By name: "GROUP/EVENT", "EVENT" or "GROUP/". Returns {"removed":[definitions]}.
  Result<nlohmann::json> remove_probes(const std::vector<std::string>& names);
  nlohmann::json clear_probes();
  // {"probes":[…]}, and "reason" if this kernel does not support probes.
  [[nodiscard]] nlohmann::json probes() const;

  // Fails as Filters::apply(), and with ExitCode::unavailable while there is a temporary filter.
  Result<> set_filter(const FilterSettings& settings);
  [[nodiscard]] const FilterSettings& filter() const { return filters_.current(); }
  // The owner of a temporary filter.
  struct FilterOwner {
    const void* key = nullptr;  // identifies the owner
    pid_t pid = 0;
    uid_t uid = 0;
  };
  // Sets a temporary filter, until end_temporary_filter(). The same owner may change it. Fails as
  // set_filter(). The processes that the lasting filter follows stay followed.
  Result<> set_temporary_filter(const FilterSettings& settings, const FilterOwner& owner);
  // Restores the lasting filter, or the one that the configuration has set since. Does nothing if
  // this owner has no temporary filter.
  void end_temporary_filter(const void* owner);
  // For `filter.show` and `status`: the owner of the temporary filter and the lasting filter; null
  // if there is none.
  [[nodiscard]] nlohmann::json temporary_filter() const;

  // From now on programs are attached and detached in slices, between the turns of this loop.
  void work_in(EventLoop& loop);
  // Calls back, perhaps at once, when attaching all needed programs has succeeded or failed.
  // Reports ExitCode::unavailable when the daemon ends before.
  using OnAttached = std::function<void(const Result<>& attached)>;
  void when_attached(OnAttached then);
  // Cancels all pending attaching and detaching.
  void drop_work();

  void set_paused(bool paused);
  [[nodiscard]] bool paused() const { return paused_; }
  // True if unread records of an earlier daemon wait for the first reader that requests them.
  [[nodiscard]] bool has_backlog() const { return !streaming_ && drain_->has_backlog(); }
  // Prepares for another reader, which gets only what happens from now on.
  void prepare_reader();
  // Turns the stream on for the first subscriber, or off after the last one.
  void set_streaming(bool streaming);
  // Keeps the stream on, as if there were a subscriber, as long as a copy lives.
  [[nodiscard]] std::shared_ptr<void> expect_reader();
  // Turns the stream on or off for the daemon's own recording. When turned off, returns after
  // everything up to now has been published. When turned on, the stream starts with the next
  // request_batch().
  void set_recording(bool recording);
  // Turns the flight recorder on or off. Fails with ExitCode::os, or with ExitCode::unavailable
  // while a snapshot is being written.
  Result<> set_flight(bool enabled);
  [[nodiscard]] FlightRecorder& flight() { return flight_; }
  void request_batch() { drain_->request_batch(); }
  // The number of records that reset() has discarded.
  struct Discarded {
    uint64_t unread = 0;   // in the stream rings
    uint64_t history = 0;  // in the flight recorder
  };
  // Empties the stream rings and, unless `keep_history`, the flight recorder, and sets the
  // counters to zero: from then on they count what the emptied flight recorder holds or has
  // overwritten. Fails with ExitCode::unavailable, and changes nothing, while the flight recorder
  // has no spare bank.
  Result<Discarded> reset(bool keep_history);
  // Creates rings for CPUs that have come online.
  void look_for_new_cpus();
  // Handles loaded and unloaded modules: attaches probes on them again, and enables those of their
  // tracepoints that the configuration contains.
  void note_modules(const KernelChanges& changes);
  // Called when the programs that this needs are attached.
  void check_modules();
  // Events dropped on new CPUs before the flight recorder had a ring for them, by CPU, until a
  // snapshot has reported them. Kept across restarts of the daemon.
  [[nodiscard]] LostByCpu flight_drops() const;
  void report_flight_drops(const LostByCpu& lost);
  // Detaches and unpins everything. With `persist` all of it keeps running instead, for the next
  // daemon to adopt. The last call.
  void shut_down(bool persist);

  // All names known now and until a moment ago: as metadata records, or as a first batch for a new
  // reader. Thread-safe.
  [[nodiscard]] std::vector<std::byte> metadata_records() const;
  // All names known of the time since `ns`.
  [[nodiscard]] KernelNames::History names_since(uint64_t ns) const;
  [[nodiscard]] std::vector<PacketBytes> metadata_packets() const;
  // A manifest with the tracer's part: origin, schema, configuration. Thread-safe.
  [[nodiscard]] Manifest manifest() const;
  // Hits that the kernel has missed so far, by event, without zero counts. Thread-safe.
  [[nodiscard]] HitCounts missed() const;
  // Which part of the stream is in the traces of stream.output. Used by the threads named there.
  [[nodiscard]] StreamAccount& account() { return account_; }
  // Events that a killed daemon had read and not written. The stream begins with this loss. Nothing
  // if the number is unknown. Thread-safe.
  [[nodiscard]] std::optional<uint64_t> lost_before() const { return lost_before_; }
  // Processes that could not be followed so far. Thread-safe.
  [[nodiscard]] uint64_t follow_lost() const { return filters_.follow_lost(); }
  // The current trace config, for a manifest's `config`. Thread-safe.
  using SharedConfig = TraceConfigHistory::Config;
  [[nodiscard]] SharedConfig current_config() const { return trace_configs_.current(); }
  // The earlier trace configs, also of earlier daemons.
  [[nodiscard]] const TraceConfigHistory& trace_configs() const { return trace_configs_; }
  // `call` is called after each config change from now on.
  void on_change(std::function<void(const SharedConfig&)> callback) {
    on_change_ = std::move(callback);
  }

  [[nodiscard]] const Schema& schema() const { return schema_; }
  [[nodiscard]] const Uuid& uuid() const { return uuid_; }
  [[nodiscard]] const std::string& kernel_release() const { return kernel_release_; }

  // For the method `status`.
  [[nodiscard]] nlohmann::json status() const;

 private:
  Result<std::shared_ptr<ProbeChange>> add_probes(const std::vector<ProbeCommand>& commands);
  void define_prepared(const std::vector<ProbeDefinition>& probes, const Probes::Kept& kept,
                       OnLookedUp then);
  void define_ahead(const ProbeDefinition& probe);
  void undo(const ProbeChange& change);
  // The sizes of the flight recorder in a configuration.
  [[nodiscard]] static BpfSizes sizes(const Config& config);

  struct Baseline {
    std::vector<EventCounts> per_cpu;
    uint64_t missed = 0;
    uint64_t overwritten = 0;
  };

  Tracer(Schema schema, AcquiredObject acquired, Counters counters, const Config& config,
         KernelSymbols& symbols);
  Result<> open_rings();
  LostByCpu resume_account();
  Result<uint64_t> empty_flight();
  [[nodiscard]] std::vector<uint32_t> traced_cpus() const;
  void begin_recording();
  void stream_to_readers();
  Result<> switch_flight(bool enabled);
  Result<> put_lasting_filter(const FilterSettings& settings);
  [[nodiscard]] const FilterSettings& lasting_filter() const {
    return temporary_ ? temporary_->lasting : filters_.current();
  }
  void reconcile();
  [[nodiscard]] bool names_kept() const;
  // To be called once all programs that track names are attached again.
  void check_names() const { names_.check(); }
  void note_config();
  [[nodiscard]] std::set<std::string> traced_events() const;
  // Those of tracer_attach.cpp.
  struct ProgramChange {
    std::string program;      // the name of its event, if any
    uint16_t dynamic_id = 0;  // 0: built in
    bool attach = false;
  };
  SlicedWork::Step change_next();
  // `meant` fails if one of the patterns matches nothing.
  using OnVisited = std::function<void(const Tracepoints::Kept& kept, const Result<>& meant)>;
  void visit_tracepoints(SlicedWork& work, const std::vector<std::string>& names,
                         std::function<void(const std::string& name)> visit, OnVisited then);
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
  std::vector<std::string> drop_probes(const ProbeRemoval& removal);
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
  [[nodiscard]] nlohmann::json list_entry(const std::string& tracepoint) const;
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
  StreamAccount account_;
  std::optional<uint64_t> lost_before_;
  FlightRecorder flight_;
  Uuid uuid_;
  std::string kernel_release_;
  Config config_;
  struct TemporaryFilter {
    FilterOwner owner;
    FilterSettings lasting;  // restored when the temporary filter ends
  };
  std::optional<TemporaryFilter> temporary_;
  std::set<std::string> enabled_;
  std::set<std::string> configured_tracepoints_;        // as of the last check
  std::map<std::string, ProbeEntry> probe_list_;        // by event
  std::map<std::string, std::string> attach_failures_;  // event → reason
  std::map<uint16_t, Baseline> baselines_;              // counts at the last reset
  TraceConfigHistory trace_configs_;
  std::function<void(const SharedConfig&)> on_change_;
  bool paused_ = false;
  bool subscribed_ = false;
  bool recording_ = false;
  size_t expected_readers_ = 0;
  bool streaming_ = false;  // true if there is any subscriber
  bool shut_down_ = false;
  EventLoop* loop_ = nullptr;
  std::deque<ProgramChange> to_change_;
  std::set<std::string> to_try_;                        // probes, after that
  std::optional<TraceConfigHistory::Change> changing_;  // while there are some
  bool names_begin_ = false;                            // names_.check() is due
  std::vector<OnAttached> waiting_;
  SlicedWork attaching_;
  SlicedWork preparing_;  // for commands, which run one at a time
  SlicedWork listing_;    // for lists of events, one at a time
  SlicedWork searching_;  // for lists of tracepoints, one at a time
  std::stop_source stop_looking_up_;
  std::unique_ptr<Drain> drain_;  // last: the threads use the rest
  std::unique_ptr<BackgroundWork> looking_up_;
};

// Events by group, for the configuration.
[[nodiscard]] EventGroups event_groups(const Schema& schema);

}  // namespace ktraced
