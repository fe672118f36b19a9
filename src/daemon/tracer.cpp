// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/tracer.h"

#include <spdlog/spdlog.h>
#include <sys/random.h>
#include <sys/utsname.h>

#include "base/host.h"
#include "kernel/gfp_flags.h"
#include "schema/names.h"
#include "schema/schema_from_btf.h"

namespace ktraced {
namespace {

Uuid random_uuid() {
  Uuid uuid{};
  static_cast<void>(::getrandom(uuid.data(), uuid.size(), 0));
  uuid[6] = static_cast<uint8_t>((uuid[6] & 0x0f) | 0x40);  // RFC 4122, version 4
  uuid[8] = static_cast<uint8_t>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

utsname system_names() {
  utsname names{};
  ::uname(&names);
  return names;
}

std::string running_release() { return system_names().release; }

void log_acquired(const AcquiredObject& acquired) {
  for (const std::string& old : acquired.replaced)
    spdlog::warn("replaced {}: its history is gone", old);
  if (acquired.adopted) spdlog::info("took over what an earlier daemon left running");
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
  if (!schema) return pass_on(schema);
  auto features = probe_features(*schema);
  if (!features) return pass_on(features);
  auto acquired = acquire_object(*schema, *features, sizes(config), config.bpffs);
  if (!acquired) return pass_on(acquired);
  log_acquired(*acquired);
  auto counters = Counters::open(acquired->object);
  if (!counters) return pass_on(counters);

  auto gfp = probe_gfp_flags();
  if (gfp.names.empty()) spdlog::warn("GFP flags are shown as numbers: {}", gfp.reason);
  schema->gfp_flags = std::move(gfp.names);

  std::unique_ptr<Tracer> tracer(
      new Tracer(std::move(*schema), std::move(*acquired), std::move(*counters), config, symbols));
  if (auto rings = tracer->open_rings(); !rings) return pass_on(rings);
  // Records that an earlier daemon left unread wait for the first reader.
  const bool unread = tracer->object_.control().stream != 0;
  const bool recording = config.stream.output.has_value();
  if (!recording) std::atomic_ref(tracer->object_.control().stream).store(0);
  auto drain = Drain::start(tracer->object_, tracer->counters_, tracer->rings_,
                            {.uuid = tracer->uuid_,
                             .max_latency_ms = config.stream.max_latency_ms,
                             .resume = unread,
                             .all_names = [self = tracer.get()] { return self->name_records(); }},
                            std::move(publish));
  if (!drain) return pass_on(drain);
  tracer->drain_ = std::move(*drain);
  // Before anything could be detached: what an earlier daemon wrote goes on without a gap.
  if (recording) tracer->begin_recording();
  const InForce before = tracer->in_force();
  const auto kept = tracer->tracepoints_.keep_formats();
  if (auto applied = tracer->apply(config); !applied) return pass_on(applied);
  if (before != nullptr)
    for (const std::string& line : dropped_settings(*before, *tracer->in_force()))
      spdlog::warn("dropped what the daemon before had set at run time: {}", line);
  // Those that have been attached all the time may have missed something.
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
    trace_configs_.forget("the daemon before did not keep how many hits the kernel skipped");
}

// A daemon that did not get to run leaves things as it found them.
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

// Those that have a stream ring: a CPU that has gone keeps its rings and their history.
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
  // What can fail comes first, and is taken back if what follows fails.
  const FilterSettings filter_before = lasting_filter();
  FilterSettings filter = config.filter;
  filter.syscall = config.syscalls_only;
  const bool flight_before = flight_.enabled();
  if (auto applied = put_lasting_filter(filter); !applied) return pass_on(applied);
  // No program is attached or detached before all is decided: one that an earlier daemon left
  // attached must not lose a hit.
  if (auto switched = switch_flight(config.flight.enabled); !switched) {
    static_cast<void>(put_lasting_filter(filter_before));
    return pass_on(switched);
  }
  if (const size_t bytes = size_t{config.stream.buffer_kb} * 1024; bytes != rings_.ring_bytes()) {
    if (auto resized = drain_->resize(bytes); !resized) {
      static_cast<void>(put_lasting_filter(filter_before));
      static_cast<void>(switch_flight(flight_before));
      return pass_on(resized);
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

Result<Tracer::Discarded> Tracer::reset(bool keep_history) {
  Discarded discarded;
  if (!keep_history && flight_.enabled()) {
    auto history = flight_.empty();
    if (!history)
      return fail(history.error().code,
                  "the flight recorder cannot be emptied, and nothing is reset: {}; or keep its "
                  "history (--keep-history)",
                  history.error().message);
    discarded.history = *history;
  }
  discarded.unread = drain_->discard();
  const std::vector<uint64_t> overwritten = flight_.reach().overwritten;
  for (const Event& event : schema_.events()) {
    Baseline& baseline = baselines_[event.id];
    baseline.per_cpu.resize(counters_.cpus());
    for (uint32_t cpu = 0; cpu < counters_.cpus(); ++cpu)
      baseline.per_cpu[cpu] = counts_of(cpu, event.id);
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
    // The stream last: what the stream holds but the flight recorder does not would be told
    // to readers as lost.
    Result<> added;
    if (flight_.enabled()) added = flight_.add_cpu(cpu);
    if (added) added = drain_->add_cpu(cpu);
    if (added)
      spdlog::info("CPU {} has come online and has got its rings", cpu);
    else
      spdlog::error("{}", added.error().message);
  }
}

LostByCpu Tracer::flight_misses() const {
  LostByCpu misses;
  for (uint32_t cpu = 0; cpu < counters_.cpus(); ++cpu)
    if (auto lost = counters_.flight_misses(cpu); !lost.empty())
      misses.emplace(cpu, std::move(lost));
  return misses;
}

void Tracer::tell_flight_misses(const LostByCpu& lost) {
  for (const auto& [cpu, events] : lost) counters_.tell_flight_misses(cpu, events);
}

}  // namespace ktraced
