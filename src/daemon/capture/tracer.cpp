// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/capture/tracer.h"

#include <spdlog/spdlog.h>
#include <sys/utsname.h>
#include <systemd/sd-id128.h>

#include <array>

#include "base/files/host.h"
#include "daemon/capture/crash_losses.h"
#include "kernel/symbols/gfp_flags.h"
#include "schema/names.h"
#include "schema/schema_from_btf.h"

namespace ktraced {
namespace {

Uuid random_uuid() {
  sd_id128_t id{};
  if (const int error = ::sd_id128_randomize(&id); error < 0)
    spdlog::warn("the traces of this daemon have no unique id: {}", errno_text(-error));
  return std::to_array(id.bytes);
}

utsname system_names() {
  utsname names{};
  ::uname(&names);
  return names;
}

std::string running_release() { return system_names().release; }

void log_acquired(const AcquiredObject& acquired) {
  for (const std::string& old : acquired.replaced)
    spdlog::warn("replaced {}: its history is lost", old);
  if (acquired.adopted) spdlog::info("adopted what an earlier daemon left running");
  if (!acquired.unpinned_because.empty())
    spdlog::warn("history will not survive this daemon: {}", acquired.unpinned_because);
}

}  // namespace

EventGroups event_groups(const Schema& schema) {
  EventGroups groups;
  for (const Event& event : schema.events())
    if (!is_dynamic(event)) groups[event.group].push_back(event.name);
  return groups;
}

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
  if (auto rings = tracer->open_rings(); !rings) return propagate(rings);
  // Records that an earlier daemon left unread wait for the first reader.
  const bool unread = tracer->object_.control().stream != 0;
  const bool recording = config.stream.output.has_value();
  if (!recording) std::atomic_ref(tracer->object_.control().stream).store(0);
  LostByCpu lost = tracer->resume_account();
  auto drain =
      Drain::start(tracer->object_, tracer->counters_, tracer->rings_, tracer->account_,
                   {.uuid = tracer->uuid_,
                    .max_latency_ms = config.stream.max_latency_ms,
                    .resume = unread,
                    .all_names = [self = tracer.get()] { return self->metadata_records(); },
                    .lost_before = recording ? std::move(lost) : LostByCpu{}},
                   std::move(publish));
  if (!drain) return propagate(drain);
  tracer->drain_ = std::move(*drain);
  // Before any program can be detached, so that the records continue those of the earlier daemon
  // without a gap.
  if (recording) tracer->begin_recording();
  const SharedConfig before = tracer->current_config();
  const auto kept = tracer->tracepoints_.keep_formats();
  if (auto applied = tracer->apply(config); !applied) return propagate(applied);
  if (before != nullptr)
    for (const std::string& line : dropped_settings(*before, *tracer->current_config()))
      spdlog::warn("dropped a run-time setting of the earlier daemon: {}", line);
  // Programs that stayed attached may have missed hits, so names may be outdated.
  tracer->check_names();
  return tracer;
}

BpfSizes Tracer::sizes(const Config& config) {
  return {.flight_bytes = config.flight.buffer_kb * 1024, .flight_banks = config.flight.banks};
}

Tracer::Tracer(Schema schema, AcquiredObject acquired, Counters counters, const Config& config,
               KernelSymbols& symbols)
    : schema_(std::move(schema)),
      pins_lock_(std::move(acquired.lock)),
      unpinned_because_(std::move(acquired.unpinned_because)),
      adopted_(acquired.adopted),
      object_(std::move(acquired.object)),
      tracepoints_(object_),
      probes_(object_, symbols),
      dynamic_(object_),
      counters_(std::move(counters)),
      filters_(object_),
      names_(object_),
      rings_(object_, size_t{config.stream.buffer_kb} * 1024),
      account_(StreamAccount::open(object_.pins(), counters_.cpus())),
      flight_(object_, sizes(config), schema_, counters_,
              [this](const Event& event) { return missed(event); }),
      uuid_(random_uuid()),
      kernel_release_(running_release()),
      config_(config),
      trace_configs_(object_, adopted_) {
  dynamic_.add_kind(tracepoints_);
  dynamic_.add_kind(probes_);
  dynamic_.adopt();
  for (const auto& [id, event] : dynamic_.all()) schema_.add(event->event);
  if (adopted_ && !dynamic_.misses_kept())
    trace_configs_.mark_unknown("the earlier daemon did not save how many hits the kernel missed");
}

// If startup fails, the kernel state stays as it was found.
Tracer::~Tracer() {
  drop_work();
  if (!adopted_ && !shut_down_ && object_.pins() != nullptr) object_.pins()->remove();
}

Result<> Tracer::open_rings() {
  if (auto adopted = rings_.adopt(); !adopted) return adopted;
  for (uint32_t cpu : online_cpus())
    if (auto added = rings_.add_cpu(cpu); !added) return added;
  return {};
}

LostByCpu Tracer::resume_account() {
  std::map<uint32_t, uint64_t> consumed;
  for (const auto& [cpu, ring] : rings_.rings()) consumed[cpu] = ring.consumed();
  auto unwritten = account_.resume(
      consumed, [this](uint32_t cpu, uint16_t event) { return counters_.reported(cpu, event); });
  auto lost = unwritten ? crash_losses(std::move(*unwritten)) : std::nullopt;
  if (!lost) return {};
  lost_before_ = 0;
  for (const auto& [cpu, events] : *lost)
    for (const Lost& each : events) *lost_before_ += each.count;
  return std::move(*lost);
}

// All CPUs with a stream ring. An offline CPU keeps its rings and their history.
std::vector<uint32_t> Tracer::traced_cpus() const {
  std::vector<uint32_t> cpus;
  for (const auto& [cpu, ring] : rings_.rings()) cpus.push_back(cpu);
  return cpus;
}

Result<std::vector<std::string>> Tracer::apply(const Config& config) {
  if (config.flight.buffer_kb != config_.flight.buffer_kb ||
      config.flight.banks != config_.flight.banks || config.bpffs != config_.bpffs)
    return fail(ExitCode::config,
                "flight.buffer_kb, flight.banks and bpffs cannot be changed while the daemon runs: "
                "restart it");
  const TraceConfigHistory::Change change(trace_configs_);
  // The steps that can fail come first, and are undone if a later one fails.
  const FilterSettings filter_before = lasting_filter();
  FilterSettings filter = config.filter;
  filter.syscall = config.syscalls_only;
  const bool flight_before = flight_.enabled();
  if (auto applied = put_lasting_filter(filter); !applied) return propagate(applied);
  // No program is attached or detached before everything is decided: a program that an earlier
  // daemon left attached must record every hit.
  if (auto switched = switch_flight(config.flight.enabled); !switched) {
    static_cast<void>(put_lasting_filter(filter_before));
    return propagate(switched);
  }
  if (const size_t bytes = size_t{config.stream.buffer_kb} * 1024; bytes != rings_.ring_bytes()) {
    if (auto resized = drain_->resize(bytes); !resized) {
      static_cast<void>(put_lasting_filter(filter_before));
      static_cast<void>(switch_flight(flight_before));
      return propagate(resized);
    }
  }
  drain_->set_max_latency(config.stream.max_latency_ms);
  set_syscalls(config.syscalls_only);
  std::set<std::string> enabled = events_of(config);

  std::vector<std::string> changed;
  if (enabled != enabled_ || filter.syscall != filter_before.syscall)
    changed.emplace_back("events");
  if (filter.include != filter_before.include || filter.exclude != filter_before.exclude)
    changed.emplace_back("filter");
  if (config.probes != config_.probes) changed.emplace_back("probes");
  if (config.stream != config_.stream) changed.emplace_back("stream");
  if (config.flight != config_.flight) changed.emplace_back("flight");
  enabled_ = std::move(enabled);
  config_ = config;
  configured_tracepoints_.clear();
  if (auto all = tracepoints_to_note(); !all.empty())
    configured_tracepoints_ = configured_among(all);
  reconcile();
  return changed;
}

void Tracer::set_syscalls(const std::vector<std::string>& names) {
  std::map<uint32_t, std::vector<uint32_t>> numbers;
  for (const std::string& name : names)
    for (uint32_t abi = 0; abi < SYSCALL_ABIS; ++abi)
      if (auto number = syscall_number(abi, name))
        numbers[abi].push_back(static_cast<uint32_t>(*number));
  filters_.select_syscalls(numbers);
}

const std::string* Tracer::why_unavailable(const std::string& event) const {
  if (auto reason = object_.unavailable().find(event); reason != object_.unavailable().end())
    return &reason->second;
  if (auto reason = attach_failures_.find(event); reason != attach_failures_.end())
    return &reason->second;
  return nullptr;
}

Result<uint64_t> Tracer::empty_flight() {
  auto history = flight_.empty();
  if (!history)
    return fail(history.error().code,
                "the flight recorder cannot be emptied, and nothing is reset: {}; or keep its "
                "history (--keep-history)",
                history.error().message);
  // A snapshot that is being written reports the drops before it.
  if (!flight_.any_frozen()) report_flight_drops(flight_drops());
  return history;
}

// Programs record during a reset. Records written after the flight recorder was emptied are in it,
// so they are counted.
Result<Tracer::Discarded> Tracer::reset(bool keep_history) {
  Discarded discarded;
  const bool empties = !keep_history && flight_.enabled();
  if (empties) {
    auto history = empty_flight();
    if (!history) return propagate(history);
    discarded.history = *history;
  }
  discarded.unread = drain_->discard();
  const std::vector<uint64_t> overwritten =
      empties ? flight_.overwritten_before() : flight_.reach().overwritten;
  for (const Event& event : schema_.events()) {
    Baseline& baseline = baselines_[event.id];
    baseline.per_cpu.resize(counters_.cpus());
    for (uint32_t cpu = 0; cpu < counters_.cpus(); ++cpu) {
      EventCounts& counts = baseline.per_cpu[cpu] = counters_.of(cpu, event.id);
      counts.recorded +=
          empties ? flight_.recorded_before(cpu, event.id) : flight_.recorded(cpu, event.id);
    }
    baseline.missed = missed(event);
    baseline.overwritten = overwritten[event.id];
  }
  return discarded;
}

EventCounts Tracer::counts_of(uint32_t cpu, uint16_t event) const {
  EventCounts counts = counters_.of(cpu, event);
  counts.recorded += flight_.recorded(cpu, event);
  return counts;
}

void Tracer::look_for_new_cpus() {
  for (uint32_t cpu : online_cpus()) {
    if (rings_.rings().contains(cpu) && (!flight_.enabled() || flight_.has_cpu(cpu))) continue;
    // The stream comes last: records in the stream rings but not in the flight recorder would be
    // reported to readers as lost.
    Result<> added;
    if (flight_.enabled()) added = flight_.add_cpu(cpu);
    if (added) added = drain_->add_cpu(cpu);
    if (added)
      spdlog::info("CPU {} has come online and has got its rings", cpu);
    else
      spdlog::error("{}", added.error().message);
  }
}

LostByCpu Tracer::flight_drops() const {
  LostByCpu misses;
  for (uint32_t cpu = 0; cpu < counters_.cpus(); ++cpu)
    if (auto lost = counters_.flight_drops(cpu); !lost.empty())
      misses.emplace(cpu, std::move(lost));
  return misses;
}

void Tracer::report_flight_drops(const LostByCpu& lost) {
  for (const auto& [cpu, events] : lost) counters_.report_flight_drops(cpu, events);
}

}  // namespace ktraced
