// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/tracer.h"

#include <spdlog/spdlog.h>

#include <atomic>
#include <utility>

#include "kernel/programs/features.h"
#include "kernel/symbols/gfp_flags.h"
#include "schema/names.h"
#include "schema/schema_from_btf.h"
#include "trace/metadata/event_records.h"

namespace ktraced {
namespace {

void log_acquired(const AcquiredObject& acquired) {
  for (const std::string& old : acquired.replaced)
    spdlog::warn("replaced {}: its history is lost", old);
  if (acquired.adopted) spdlog::info("adopted what an earlier daemon left running");
  if (!acquired.unpinned_because.empty())
    spdlog::warn("history will not survive this daemon: {}", acquired.unpinned_because);
}

// The sizes of the flight recorder in a configuration.
BpfSizes sizes(const Config& config) {
  return {.flight_bytes = config.flight.buffer_kb * 1024, .flight_banks = config.flight.banks};
}

size_t stream_bytes(const Config& config) { return size_t{config.stream.buffer_kb} * 1024; }

FilterSettings filter_of(const Config& config) {
  FilterSettings filter = config.filter;
  filter.syscall = config.syscalls_only;
  return filter;
}

// The numbers of system calls in each ABI.
std::map<uint32_t, std::vector<uint32_t>> numbers_of(const std::vector<std::string>& names) {
  std::map<uint32_t, std::vector<uint32_t>> numbers;
  for (const std::string& name : names)
    for (uint32_t abi = 0; abi < SYSCALL_ABIS; ++abi)
      if (auto number = syscall_number(abi, name))
        numbers[abi].push_back(static_cast<uint32_t>(*number));
  return numbers;
}

}  // namespace

Result<std::unique_ptr<Tracer>> Tracer::create(const Config& config, KernelSymbols& symbols,
                                               Drain::Publish publish) {
  auto schema = schema_from_object(bpf_object_bytes());
  if (!schema) return propagate(schema);
  auto features = probe_features(*schema);
  if (!features) return propagate(features);
  auto acquired = acquire_object(*schema, *features, sizes(config), config.bpffs);
  if (!acquired) return propagate(acquired);
  log_acquired(*acquired);
  auto counters = Counters::open(acquired->object);
  if (!counters) return propagate(counters);

  auto gfp = probe_gfp_flags();
  if (gfp.names.empty()) spdlog::warn("GFP flags are shown as numbers: {}", gfp.reason);
  schema->gfp_flags = std::move(gfp.names);

  std::unique_ptr<Tracer> tracer(
      new Tracer(std::move(*schema), std::move(*acquired), std::move(*counters), config, symbols));
  if (auto started = tracer->start(config, std::move(publish)); !started) return propagate(started);
  return tracer;
}

Tracer::Tracer(Schema schema, AcquiredObject acquired, Counters counters, const Config& config,
               KernelSymbols& symbols)
    : pins_lock_(std::move(acquired.lock)),
      unpinned_because_(std::move(acquired.unpinned_because)),
      adopted_(acquired.adopted),
      config_(config),
      object_(std::move(acquired.object)),
      availability_(object_.unavailable()),
      catalog_(std::move(schema), object_, symbols),
      rings_(object_, {.flight = sizes(config), .stream_bytes = stream_bytes(config)},
             catalog_.schema(), std::move(counters),
             [this](const Event& event) { return catalog_.missed(event); }),
      filters_(object_),
      names_(object_),
      history_(object_, adopted_),
      tracking_(object_, names_, availability_),
      attacher_(attach_functions(),
                {.changed = [this] { tracking_.check_if_attached(); },
                 .finished = [this] { reconciler_.note_attached(); }},
                availability_),
      reconciler_({.object = object_,
                   .availability = availability_,
                   .catalog = catalog_,
                   .enabled = enabled_,
                   .filters = filters_,
                   .rings = rings_,
                   .stream = stream_,
                   .tracking = tracking_,
                   .attacher = attacher_,
                   .history = history_},
                  sizes(config),
                  [this](const auto& now, uint64_t ns) { announce_config(now, ns); }),
      probes_(catalog_, availability_, enabled_, attacher_, reconciler_),
      resolver_(catalog_, availability_, probes_),
      selection_(catalog_, availability_, enabled_, resolver_, probes_, reconciler_),
      event_list_(catalog_, availability_, enabled_, resolver_),
      filter_(filter_functions(), reconciler_),
      accounts_(catalog_, rings_),
      metadata_(catalog_, names_, history_),
      status_(catalog_, availability_, enabled_, accounts_, rings_, stream_),
      stream_(reconciler_),
      probe_lookup_(catalog_, probes_) {
  catalog_.announce_with([this](std::span<const std::byte> records) { stream_.announce(records); });
  if (adopted_ && !catalog_.dynamic().misses_kept())
    history_.mark_unknown("the earlier daemon did not save how many hits the kernel missed");
}

ProgramAttacher::Kernel Tracer::attach_functions() {
  return {.attached =
              [this](const Program& program) {
                return program.dynamic_id != 0 ? catalog_.dynamic().attached(program.dynamic_id)
                                               : object_.attached(program.name);
              },
          .detaching =
              [this](const Program& program) {
                return program.dynamic_id != 0 ? catalog_.dynamic().detaching(program.dynamic_id)
                                               : object_.detaching(program.name);
              },
          .attach =
              [this](const Program& program) {
                return program.dynamic_id != 0 ? catalog_.dynamic().attach(program.dynamic_id)
                                               : object_.attach(program.name);
              },
          .detach =
              [this](const Program& program) {
                if (program.dynamic_id != 0)
                  catalog_.dynamic().detach(program.dynamic_id);
                else
                  object_.detach(program.name);
              },
          .try_attach = [this](const std::string& event) { probes_.try_attach(event); }};
}

FilterControl::Kernel Tracer::filter_functions() {
  return {
      .apply = [this](const FilterSettings& settings,
                      const FilterSettings* parked) { return filters_.apply(settings, parked); },
      .select_syscalls =
          [this](const std::vector<std::string>& names) {
            filters_.select_syscalls(numbers_of(names));
          },
      .attach_followers =
          [this] {
            if (filters_.following()) tracking_.attach_now(attacher_);
          }};
}

Result<> Tracer::start(const Config& config, Drain::Publish publish) {
  if (auto opened = rings_.open(); !opened) return opened;
  if (auto started = start_stream(config, std::move(publish)); !started) return started;
  const auto before = history_.current();
  const auto kept = catalog_.tracepoints().keep_formats();
  if (auto applied = apply(config); !applied) return propagate(applied);
  if (before != nullptr)
    for (const std::string& line : dropped_settings(*before, *history_.current()))
      spdlog::warn("dropped a run-time setting of the earlier daemon: {}", line);
  // Programs that stayed attached may have missed hits, so names may be outdated.
  names_.check();
  return {};
}

// Records that an earlier daemon left unread wait for the first reader. Before any program can be
// detached, so that the records of the own recording continue those of the earlier daemon without a
// gap.
Result<> Tracer::start_stream(const Config& config, Drain::Publish publish) {
  const bool unread = object_.control().stream != 0;
  const bool recording = config.stream.output.has_value();
  if (!recording) std::atomic_ref(object_.control().stream).store(0);
  LostByCpu lost = rings_.resume_account();
  auto drain = Drain::start(object_, rings_.counters(), rings_.stream(), rings_.account(),
                            {.uuid = metadata_.uuid(),
                             .max_latency_ms = config.stream.max_latency_ms,
                             .resume = unread,
                             .all_names = [this] { return metadata_.records(); },
                             .lost_before = recording ? std::move(lost) : LostByCpu{}},
                            std::move(publish));
  if (!drain) return propagate(drain);
  stream_.start(std::move(*drain), recording);
  return {};
}

// If startup fails, the kernel state stays as it was found.
Tracer::~Tracer() {
  drop_work();
  if (!adopted_ && !shut_down_ && object_.pins() != nullptr) object_.pins()->remove();
}

// The steps that can fail. They are undone if a later one fails. No program is attached or detached
// here: a program that an earlier daemon left attached must record every hit.
Result<> Tracer::change_kernel(const Config& config) {
  const FilterSettings filter_before = filter_.lasting();
  const bool flight_before = rings_.flight().enabled();
  if (auto applied = filter_.set_lasting(filter_of(config)); !applied) return applied;
  if (auto switched = rings_.switch_flight(config.flight.enabled); !switched) {
    static_cast<void>(filter_.set_lasting(filter_before));
    return switched;
  }
  if (stream_bytes(config) == rings_.stream().ring_bytes()) return {};
  if (auto resized = stream_.drain().resize(stream_bytes(config)); !resized) {
    static_cast<void>(filter_.set_lasting(filter_before));
    static_cast<void>(rings_.switch_flight(flight_before));
    return resized;
  }
  return {};
}

Result<std::vector<std::string>> Tracer::apply(const Config& config) {
  if (config.flight.buffer_kb != config_.flight.buffer_kb ||
      config.flight.banks != config_.flight.banks || config.bpffs != config_.bpffs)
    return fail(ExitCode::config,
                "flight.buffer_kb, flight.banks and bpffs cannot be changed while the daemon runs: "
                "restart it");
  const TraceConfigHistory::Change change(history_);
  const FilterSettings before = filter_.lasting();
  if (auto changed = change_kernel(config); !changed) return propagate(changed);
  stream_.drain().set_max_latency(config.stream.max_latency_ms);
  filter_.select_syscalls();

  std::vector<std::string> changed;
  if (selection_.apply(config) || config.syscalls_only != before.syscall)
    changed.emplace_back("events");
  if (config.filter.include != before.include || config.filter.exclude != before.exclude)
    changed.emplace_back("filter");
  if (config.probes != config_.probes) changed.emplace_back("probes");
  if (config.stream != config_.stream) changed.emplace_back("stream");
  if (config.flight != config_.flight) changed.emplace_back("flight");
  config_ = config;
  reconciler_.reconcile();
  return changed;
}

void Tracer::announce_config(const Reconciler::SharedConfig& config, uint64_t ns) {
  if (stream_.on()) stream_.announce(config_record(*config, ns));
  if (on_change_) on_change_(config);
}

Result<> Tracer::set_flight(bool enabled) {
  if (auto switched = rings_.switch_flight(enabled); !switched) return switched;
  reconciler_.reconcile();
  return {};
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

TraceStatus Tracer::status() const {
  TraceStatus status = status_.read();
  status.stream.max_latency_ms = config_.stream.max_latency_ms;
  return status;
}

// At the end of the daemon: dynamic events are not detached one by one.
void Tracer::detach_all() {
  for (auto& on : object_.control().event_on) std::atomic_ref(on).store(0);
  for (const Event& event : schema().events())
    if (!is_dynamic(event)) object_.detach(event.name);
  for (const std::string& program : TaskTracking::helpers()) object_.detach(program);
  catalog_.dynamic().leave_to_pins();
}

void Tracer::shut_down(bool persist) {
  drop_work();
  if (const auto& temporary = filter_.temporary()) filter_.end_temporary(temporary->owner.key);
  shut_down_ = true;
  reconciler_.close();
  stream_.close();
  drop_work();
  // The next daemon continues recording where this one ends.
  stream_.finish(persist);
  if (persist) {
    // The kernel may soon reuse the number for another process. 0 is the number of the idle task.
    object_.control().self_tgid = UINT32_MAX;
    return;
  }
  static_cast<void>(filters_.apply({}));
  detach_all();
  rings_.flight().disable();
  if (object_.pins() != nullptr) object_.pins()->remove();
}

}  // namespace ktraced
