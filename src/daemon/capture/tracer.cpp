// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/tracer.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/clock.h"
#include "base/files/cgroup_memory.h"
#include "base/install_paths.h"
#include "daemon/capture/attach_functions.h"
#include "daemon/events/exact_events.h"
#include "daemon/programs/entry_times.h"
#include "daemon/runtime/failure_barrier.h"
#include "daemon/sessions/session_rules.h"
#include "kernel/programs/bpf_loader.h"
#include "kernel/programs/features.h"
#include "kernel/rings/flight_ring.h"
#include "kernel/symbols/gfp_flags.h"
#include "kernel/symbols/page_nodes.h"
#include "schema/schema_from_btf.h"
#include "trace/metadata/event_records.h"

namespace ktraced {
namespace {

// Without `bpffs` nothing is to be pinned.
void log_acquired(const AcquiredObject& acquired, const std::filesystem::path& bpffs) {
  for (const ReplacedObject& old : acquired.replaced)
    spdlog::warn("replaced {} ({}){}", old.id, old.reason,
                 old.since_ns == 0 ? "" : ": its history is lost");
  if (acquired.adopted) spdlog::info("adopted what an earlier daemon left running");
  if (!acquired.unpinned_because.empty() && !bpffs.empty())
    spdlog::warn("history will not survive this daemon: {}", acquired.unpinned_because);
}

// System calls are selected in the sections "events".
ConfiguredFilters filters_of(const Config& config) {
  ConfiguredFilters filters{.recorder = config.filter, .output = {}};
  filters.recorder.syscall = config.events.syscalls_only;
  if (const auto& output = config.stream.output) {
    filters.output.emplace();
    if (output->filter) filters.output->tasks = output->filter->tasks();
    if (output->events) filters.output->syscalls = output->events->syscalls_only;
  }
  return filters;
}

TaskTracking::Tracked tracked_for(const Config& config) {
  const ConfiguredFilters filters = filters_of(config);
  TaskTracking::Tracked tracked;
  tracked.add(filters.recorder.tasks());
  if (filters.output && filters.output->tasks) tracked.add(*filters.output->tasks);
  return tracked;
}

// The file is left out if it is the one that is read without `--config`.
std::string cleanup_command(const std::filesystem::path& file) {
  if (file.empty() || file == kDefaultConfigFile) return "ktraced --cleanup";
  return fmt::format("ktraced --config {} --cleanup", file.string());
}

void note_unknown(KernelFeatures& features, const char* what, const std::string& reason) {
  spdlog::warn("{} are unknown: {}", what, reason);
  features.unknown[what] = reason;
}

}  // namespace

BpfSizes sizes_of(const Config& config) {
  return {.flight_bytes = config.flight.buffer_kb * 1024, .flight_banks = config.flight.banks};
}

Result<> check_start_memory(const Config& config) {
  const BpfSizes sizes = sizes_of(config);
  auto maps = maps_memory(sizes);
  if (!maps) return propagate(maps);
  const size_t cpus = online_cpus().size();
  RingMemory rings = flight_rings(config.flight, cpus);
  if (config.stream.output)
    rings.stream_bytes = ring_share(ring_budget(config), 0, cpus, {}).value_or(0);
  rings.stack_bytes = stack_bytes(config);
  return check_memory_limit(memory_limits(), rings,
                            {.maps = *maps, .model = FlightRing::whole_size(sizes.flight_bytes)});
}

std::vector<std::string> set_sizes(FlightConfig& flight, const BpfSizes& sizes) {
  const uint32_t buffer_kb = sizes.flight_bytes / 1024;
  std::vector<std::string> keys;
  if (std::exchange(flight.buffer_kb, buffer_kb) != buffer_kb)
    keys.emplace_back("flight.buffer_kb");
  if (std::exchange(flight.banks, sizes.flight_banks) != sizes.flight_banks)
    keys.emplace_back("flight.banks");
  return keys;
}

Result<std::unique_ptr<Tracer>> Tracer::create(Config config, KernelSymbols& symbols,
                                               SessionStream::Publish publish_output) {
  auto schema = schema_from_object(bpf_object_bytes());
  if (!schema) return propagate(schema);
  auto features = probe_features(*schema);
  if (!features) return propagate(features);
  const PageNodes nodes = probe_page_nodes(symbols);
  if (!nodes.reason.empty()) note_unknown(*features, "NUMA nodes of memory", nodes.reason);
  features->flags.page_nodes = nodes.layout;
  auto acquired = acquire_object(*schema, *features, sizes_of(config), config.bpffs,
                                 cleanup_command(config.file),
                                 [&config] { return check_start_memory(config); });
  if (!acquired) return propagate(acquired);
  log_acquired(*acquired, config.bpffs);
  // Rings of sizes that are not configured are not made.
  if (acquired->sizes != sizes_of(config) && acquired->object.control().flight == 0)
    config.flight.enabled = false;
  set_sizes(config.flight, acquired->sizes);
  auto counters = Counters::open(acquired->object);
  if (!counters) return propagate(counters);
  auto catching = Catchers::map(acquired->object);
  if (!catching) return propagate(catching);

  schema->contexts = features->flags.preempt_count != PREEMPT_COUNT_UNKNOWN;
  auto gfp = probe_gfp_flags();
  if (gfp.names.empty()) note_unknown(*features, "names of GFP flags", gfp.reason);
  schema->gfp_flags = std::move(gfp.names);

  std::unique_ptr<Tracer> tracer(new Tracer(
      std::move(*schema), std::move(*features), std::move(*acquired),
      {.counters = std::move(*counters), .catching = std::move(*catching)}, config, symbols));
  if (auto started = tracer->start(config, std::move(publish_output)); !started)
    return propagate(started);
  return tracer;
}

Tracer::Tracer(Schema schema, KernelFeatures features, AcquiredObject acquired, Counts counts,
               const Config& config, KernelSymbols& symbols)
    : pins_lock_(std::move(acquired.lock)),
      unpinned_because_(std::move(acquired.unpinned_because)),
      replaced_(std::move(acquired.replaced)),
      adopted_(acquired.adopted),
      config_(config),
      features_(std::move(features)),
      object_(std::move(acquired.object)),
      ledger_(Ledger::open(object_.pins(), counts.counters.cpus(), config.flight.banks)),
      availability_(object_.unavailable()),
      catchers_(object_, schema, features_.flags, std::move(counts.catching)),
      catalog_(std::move(schema), object_, ledger_, catchers_, symbols),
      rings_(object_, ledger_, sizes_of(config), std::move(counts.counters),
             {ledger_.banks(), catalog_.schema(),
              [this](const Event& event) {
                return session_ledger_.missed(SESSION_RECORDER, event.id);
              }}),
      filters_(object_, barrier_, availability_.supports("cgroup_changed")),
      sessions_(enabled_),
      calls_(catalog_.calls()),
      stacks_(catalog_.stacks(), catalog_.schema(), object_.control().event_ways),
      session_ledger_(kernel_of_sessions(), ledger_.misses()),
      accounts_(catalog_, rings_.counters(), rings_.flight(), session_ledger_),
      names_(object_),
      history_(ledger_.configs(), adopted_),
      tracking_(object_, names_, availability_),
      attacher_(attach_functions(object_, catalog_, calls_, stacks_, catchers_,
                                 [this](const std::string& event) { probes_.try_attach(event); }),
                {.changed = [this] { tracking_.check_if_attached(); },
                 .finished = [this] { reconciler_.note_attached(); },
                 .reconcile = [this] { reconciler_.reconcile(); }},
                availability_),
      reconciler_({.object = object_,
                   .availability = availability_,
                   .catalog = catalog_,
                   .sessions = sessions_,
                   .calls = calls_,
                   .stacks = stacks_,
                   .catchers = catchers_,
                   .ledger = session_ledger_,
                   .filters = filters_,
                   .tracking = tracking_,
                   .attacher = attacher_,
                   .history = history_},
                  sizes_of(config),
                  [this](uint32_t session, const auto& now, uint64_t ns) {
                    announce_config(session, now, ns);
                  }),
      probes_(catalog_, availability_, enabled_, attacher_, reconciler_),
      resolver_(catalog_, availability_, probes_),
      selection_(catalog_, availability_, {enabled_, sessions_.output().own_events}, resolver_,
                 probes_, reconciler_),
      event_list_(catalog_, availability_, enabled_, resolver_),
      metadata_(catalog_, names_, reconciler_, session_ledger_),
      control_({.object = object_,
                .sessions = sessions_,
                .accounts = accounts_,
                .filters = filters_,
                .rings = rings_,
                .stacks = catalog_.stacks(),
                .applier = reconciler_}),
      status_(catalog_, availability_, sessions_, calls_, stacks_, accounts_, rings_, control_),
      probe_lookup_(catalog_, probes_),
      parts_{.features = features_,
             .schema = catalog_.schema(),
             .availability = availability_,
             .filters = filters_,
             .catchers = catchers_,
             .stacks = stacks_,
             .reconciler = reconciler_,
             .attacher = attacher_,
             .events = selection_,
             .resolver = resolver_,
             .event_list = event_list_,
             .probes = probes_,
             .probe_lookup = probe_lookup_,
             .sessions = sessions_,
             .session_control = control_,
             .rings = rings_,
             .metadata = metadata_,
             .trace_configs = history_,
             .status = status_,
             .replaced = replaced_,
             .persistent = unpinned_because_.empty()} {
  catalog_.announce_with(
      [this](std::span<const std::byte> records) { control_.announce(records); });
  if (adopted_ && !ledger_.adopted()) session_ledger_.adopt_without_misses();
}

SessionLedger::Kernel Tracer::kernel_of_sessions() {
  return {.ways = object_.control().event_ways,
          .cpus = rings_.counters().cpus(),
          .hits = [this](uint32_t cpu, uint32_t counter,
                         uint16_t event) { return rings_.counters().hits(cpu, counter, event); },
          .missed = [this](uint16_t event) { return catalog_.missed(event); },
          .wait = [this] { barrier_.wait(); },
          .beside = features_.flags.preemptible == 0};
}

Result<> Tracer::start(const Config& config, SessionStream::Publish publish_output) {
  if (auto prepared = barrier_.prepare(); !prepared) return prepared;
  if (auto prepared = rings_.flight().prepare(); !prepared) return prepared;
  if (adopted_) barrier_.wait();  // programs still count for what an earlier daemon has changed
  if (auto started = start_stream(config, std::move(publish_output)); !started) return started;
  if (auto room = check_memory(config); !room) return room;
  const auto before = history_.current();
  const auto kept = catalog_.tracepoints().keep_formats();
  // No program that an earlier daemon left attached may be detached yet, so nothing is reconciled.
  std::vector<std::string> attached;
  Rollback tracking([&] {
    for (const std::string& program : attached) object_.detach(program);
  });
  if (const auto tracked = tracked_for(config); tracked.any()) {
    const auto required = tracking_.preparation(tracked).required;
    attached = tracking_.attach_now(attacher_);
    if (auto all = attacher_.check_attached(required); !all) return all;
  }
  if (auto applied = apply(config); !applied) return propagate(applied);
  tracking.dismiss();
  if (before != nullptr)
    for (const std::string& line : dropped_settings(*before, *history_.current()))
      spdlog::warn("dropped a run-time setting of the earlier daemon: {}", line);
  // Programs that stayed attached may have missed hits, so names may be outdated.
  names_.check();
  metadata_.commands().look();
  return {};
}

// The sessions of an earlier daemon's clients have ended with it. Before any program can be
// detached, so that the records of the output continue those of the earlier daemon without a gap.
Result<> Tracer::start_stream(const Config& config, SessionStream::Publish publish_output) {
  const bool output = config.stream.output.has_value();
  if (adopted_) {
    const uint32_t kept = WAY_RECORDER | (output ? 1U << SESSION_OUTPUT : 0U);
    session_ledger_.drop(WAY_SESSIONS & ~kept);
    for (uint32_t session = SESSION_CLIENT_FIRST; session < SESSIONS_MAX; ++session)
      remove_left_rings(object_, session);
    for (uint32_t session = SESSION_OUTPUT; session < SESSIONS_MAX; ++session)
      accounts_.begin(session);
  }
  if (!output) std::atomic_ref(object_.control().stream).store(0);
  auto drain = Drain::start(object_, rings_.counters(), names_, config.stream.max_latency_ms);
  if (!drain) return propagate(drain);
  control_.start(std::move(*drain), metadata_.uuid(), std::move(publish_output));
  if (auto set = control_.set_budget(ring_budget(config), output); !set) return set;
  return control_.adopt_output(output);
}

// If startup fails, the kernel state stays as it was found.
Tracer::~Tracer() {
  drop_work();
  if (!adopted_ && !shut_down_ && object_.pins() != nullptr) object_.pins()->remove();
}

// No program stores records for the recorder when its rings go.
Result<> Tracer::switch_flight(bool enabled) {
  // While a snapshot is being written, nothing is switched off.
  if (!enabled && !rings_.flight().any_frozen()) session_ledger_.drop(WAY_RECORDER);
  auto switched = rings_.switch_flight(enabled);
  note_flight();
  return switched;
}

void Tracer::note_flight() {
  Session& recorder = sessions_.recorder();
  recorder.has_sink = rings_.flight().enabled();
  if (recorder.has_sink && recorder.since_ns == 0) recorder.since_ns = boottime_ns();
}

// The steps that can fail. They are undone if a later one fails. At a start, no program is attached
// or detached here: one that an earlier daemon left attached must record every hit.
Result<> Tracer::change_kernel(const Config& config) {
  const ConfiguredFilters before{.recorder = filter_of(sessions_, sessions_.recorder()),
                                 .output = sessions_.output().own_filter};
  const bool flight_before = rings_.flight().enabled();
  // An earlier daemon left its recorder on, and this one has not adopted it. It stays on after a
  // failure, because its history would be freed.
  const bool left_behind = !flight_before && object_.control().flight != 0;
  if (auto applied = control_.set_filters(filters_of(config)); !applied) return applied;
  auto changed = switch_flight(config.flight.enabled);
  if (changed) changed = control_.set_budget(ring_budget(config), config.stream.output.has_value());
  if (changed) return changed;
  static_cast<void>(control_.set_filters(before));
  if (rings_.flight().enabled() != flight_before && !left_behind)
    static_cast<void>(switch_flight(flight_before));
  // A recorder that was on gets back the events that switch_flight() took from it.
  if (flight_before) reconciler_.reconcile();
  return changed;
}

void Tracer::prepare_filters(const Config& config, ProgramAttacher::OnAttached then) {
  reconciler_.prepare(tracked_for(config), std::move(then));
}

Result<std::vector<std::string>> Tracer::apply(const Config& config) {
  if (config.bpffs != config_.bpffs)
    return fail(ExitCode::config, "bpffs cannot be changed while the daemon runs: restart it");
  const TraceConfigHistory::Change change(history_);
  const FilterSettings before = filter_of(sessions_, sessions_.recorder());
  const OwnFilter output_before = sessions_.output().own_filter;
  if (auto changed = change_kernel(config); !changed) return propagate(changed);
  control_.drain().set_max_latency(config.stream.max_latency_ms);

  std::vector<std::string> changed;
  const EventSelection::Changed events = selection_.apply(config);
  catchers_.choose(exact_events(config.exact, features_, catalog_.schema()));
  if (events.recorder || config.events.syscalls_only != before.syscall)
    changed.emplace_back("events");
  if (config.filter.include != before.include || config.filter.exclude != before.exclude)
    changed.emplace_back("filter");
  if (config.exact != config_.exact) changed.emplace_back("exact");
  if (config.stacks != config_.stacks) changed.emplace_back("stacks");
  if (config.sampling != config_.sampling) changed.emplace_back("sampling");
  if (config.probes != config_.probes) changed.emplace_back("probes");
  if (config.stream != config_.stream || events.output ||
      sessions_.output().own_filter != output_before)
    changed.emplace_back("stream");
  if (config.flight != config_.flight) changed.emplace_back("flight");
  config_ = config;
  calls_.clear_failures();
  stacks_.clear_failures();
  sessions_.recorder().own_stacks =
      EventSet(config.stacks.events.begin(), config.stacks.events.end());
  stacks_.configure(config, catalog_.schema(), object_.control());
  reconciler_.reconcile();
  return changed;
}

void Tracer::announce_config(uint32_t session, const Reconciler::SharedConfig& config,
                             uint64_t ns) {
  control_.announce(session, config_records(*config, ns));
  if (session == SESSION_OUTPUT && on_output_change_) on_output_change_(config);
}

// While it records there are rings, in an adopted object too.
RingMemory Tracer::new_flight_rings(const FlightConfig& config) const {
  RingMemory rings = flight_rings(config, rings_.cpus().size());
  if (object_.control().flight != 0) rings.flight_banks = 0;
  return rings;
}

Result<> Tracer::check_memory(const Config& config) const {
  RingMemory rings = new_flight_rings(config.flight);
  if (config.stream.output) rings.stream_bytes = control_.new_output_bytes(ring_budget(config));
  if (catalog_.stacks().memory() == 0) rings.stack_bytes = stack_bytes(config);
  return check_memory_room(rings);
}

void Tracer::add_new_cpus() {
  FlightConfig flight = config_.flight;
  flight.enabled = rings_.flight().enabled();
  RingMemory rings = flight_rings(flight, 1);
  rings.stream_bytes = control_.used_bytes() / std::max<size_t>(rings_.cpus().size(), 1);
  rings_.add_new_cpus(control_.drain(), rings);
}

// The kernel has taken the perf events of CPUs away that were offline.
void Tracer::note_cpus() {
  add_new_cpus();
  if (catalog_.stacks().renew_samplers()) reconciler_.reconcile();
}

Result<> Tracer::set_flight(bool enabled) {
  FlightConfig flight = config_.flight;
  flight.enabled = enabled;
  const RingMemory rings = new_flight_rings(flight);
  if (auto room = check_memory_room(rings); !room) return room;
  auto switched = switch_flight(enabled);
  reconciler_.reconcile();
  return switched;
}

void Tracer::note_modules(const KernelChanges& changes) {
  catalog_.tracepoints().drop_formats();
  probes_.leave_modules(changes);
  selection_.note_tracepoints();
  if (changes.modules_came) probes_.renew_configured();
  reconciler_.reconcile();
}

void Tracer::work_in(EventLoop& loop) {
  attacher_.work_in(loop);
  resolver_.work_in(loop);
  event_list_.work_in(loop);
  probe_lookup_.work_in(loop);
}

void Tracer::drop_work() {
  probe_lookup_.stop();
  reconciler_.drop_work();
}

// At the end of the daemon: dynamic events are not detached one by one.
void Tracer::detach_all() {
  session_ledger_.drop(WAY_SESSIONS);
  catalog_.stacks().detach(kSampleEvent);
  catchers_.detach_all();
  for (const Event& event : catalog_.schema().events())
    if (!is_dynamic(event)) object_.detach(event.name);
  for (const std::string& program : TaskTracking::helpers()) object_.detach(program);
  for (const std::string& program : EntryTimes::helpers()) object_.detach(program);
  catalog_.calls().detach_all();
  catalog_.stacks().detach_all();
  catalog_.dynamic().leave_to_pins();
}

void Tracer::shut_down(bool persist) {
  drop_work();
  shut_down_ = true;
  // The next daemon continues recording where this one ends.
  control_.shut_down(persist);
  reconciler_.close();
  drop_work();
  if (persist) {
    // The kernel may soon reuse the number for another process. 0 is the number of the idle task.
    object_.control().self_tgid = UINT32_MAX;
    return;
  }
  static_cast<void>(filters_.apply((1U << SESSIONS_MAX) - 1, {}));
  detach_all();
  rings_.flight().disable();
  if (object_.pins() != nullptr) object_.pins()->remove();
}

}  // namespace ktraced
