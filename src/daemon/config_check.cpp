// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/config_check.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <set>

#include "base/files/lines.h"
#include "base/files/read_file.h"
#include "daemon/capture/ring_budget.h"
#include "daemon/capture/tracer.h"
#include "kernel/probes/probe_definition.h"
#include "kernel/probes/probe_grammar.h"
#include "kernel/programs/features.h"
#include "kernel/rings/stream_rings.h"
#include "kernel/symbols/symbols.h"
#include "kernel/tracepoints/tracefs.h"
#include "kernel/tracepoints/tracepoints.h"

namespace ktraced {
namespace {

constexpr size_t kMeminfoBytes = 64U << 10;

uint64_t machine_memory(std::string_view key) {
  const auto text = read_file("/proc/meminfo", kMeminfoBytes);
  return text ? meminfo_bytes(*text, key) : 0;
}

// All rings in the configuration, and those of one stream.
RingMemory rings_of(const Config& config, size_t cpus) {
  RingMemory rings = flight_rings(config.flight, cpus);
  rings.stream_bytes = uint64_t{config.stream.buffer_kb} << 10;
  rings.stack_bytes = stack_bytes(config);
  return rings;
}

// `key`: of /proc/meminfo.
void check_memory(const Config& config, std::string_view key, std::string_view what,
                  std::vector<std::string>& problems) {
  if (auto problem = memory_problem(config, online_cpus().size(), machine_memory(key), what))
    problems.push_back(std::move(*problem));
}

// Calls `visit` with each section "events" and its key.
template <class Visit>
void visit_events(const Config& config, Visit&& visit) {
  visit("events", config.events);
  if (const auto& output = config.stream.output; output && output->events)
    visit("stream.output.events", *output->events);
}

std::string tracepoint_key(std::string_view section, size_t index) {
  return fmt::format("{}.tracepoints[{}]", section, index);
}

// All built-in events in the configuration.
std::set<std::string> built_in(const Config& config) {
  std::set<std::string> names;
  visit_events(config, [&](std::string_view, const EventsConfig& events) {
    names.insert(events.names.begin(), events.names.end());
  });
  return names;
}

void check_events(const Config& config, const Schema& schema, ConfigFindings& findings) {
  const auto features = probe_features(schema);
  if (!features) {
    findings.warnings.push_back("events are not checked: " + features.error().message);
    return;
  }
  for (const std::string& event : built_in(config))
    if (const auto reason = features->unavailable.find(event);
        reason != features->unavailable.end())
      findings.warnings.push_back(
          fmt::format("event {} is not available: {}", event, reason->second));
}

// Stands the name or pattern for a probe of the configuration?
bool matches_probe(const Config& config, const std::string& pattern) {
  return std::ranges::any_of(config.probes, [&](const std::string& line) {
    const auto command = parse_probe_line(line);
    const auto* probe = command ? std::get_if<ProbeDefinition>(&*command) : nullptr;
    return probe != nullptr && matches_pattern(event_name(*probe), pattern);
  });
}

void check_tracepoints(const Config& config, ConfigFindings& findings) {
  visit_events(config, [&](std::string_view key, const EventsConfig& events) {
    if (events.tracepoints.empty()) return;
    const auto all = Tracepoints::all();
    if (!all)
      return findings.warnings.push_back(
          fmt::format("{}.tracepoints is not checked: {}", key, all.error().message));
    for (size_t i = 0; i < events.tracepoints.size(); ++i)
      if (auto found = Tracepoints::matching(*all, events.tracepoints[i]);
          !found && !matches_probe(config, events.tracepoints[i]))
        findings.problems.push_back(
            fmt::format("{}: {}", tracepoint_key(key, i), found.error().message));
  });
}

// "probes[2]", or "probes" for one that is not written as it is listed.
std::string path_of_probe(const Config& config, const std::string& definition) {
  const auto at = std::ranges::find(config.probes, definition);
  if (at == config.probes.end()) return "probes";
  return fmt::format("probes[{}]", at - config.probes.begin());
}

// Collects the events that this kernel has but that could not be attached.
void collect_failures(Tracer& tracer, const Config& config, ConfigFindings& findings) {
  const TraceStatus status = tracer.parts().status.read();
  const std::set<std::string> builtin = built_in(config);
  for (const auto& [name, event] : status.events) {
    const bool configured = builtin.contains(name) || name.contains(':');
    if (!configured || !event.reason) continue;
    const std::string line = fmt::format("event {} is not available: {}", name, *event.reason);
    if (std::ranges::find(findings.warnings, line) == findings.warnings.end())
      findings.problems.push_back(line);
  }
  visit_events(config, [&](std::string_view key, const EventsConfig& events) {
    for (size_t i = 0; i < events.tracepoints.size(); ++i) {
      const std::string& name = events.tracepoints[i];
      if (!status.events.contains(name) && !name.contains('*') && !name.contains('?'))
        if (auto enabled = tracer.parts().events.set_enabled({name}, true); !enabled)
          findings.problems.push_back(
              fmt::format("{}: {}", tracepoint_key(key, i), enabled.error().message));
    }
  });
  for (const ProbeInfo& probe : tracer.parts().probes.list())
    if (!probe.available())
      findings.problems.push_back(
          fmt::format("{}: {}: {}", path_of_probe(config, probe.definition), probe.definition,
                      probe.reason.empty() ? "not available" : probe.reason));
}

// Collects the log of the trial. Only problems are shown, unless details are requested.
class TrialLog {
 public:
  explicit TrialLog(const std::string& configured) : level_(spdlog::get_level()) {
    const auto level = spdlog::level::from_str(configured);
    spdlog::set_level(level <= spdlog::level::debug ? level : spdlog::level::off);
  }
  TrialLog(const TrialLog&) = delete;
  TrialLog& operator=(const TrialLog&) = delete;
  ~TrialLog() { spdlog::set_level(level_); }

 private:
  spdlog::level::level_enum level_;
};

}  // namespace

uint64_t ring_memory(const Config& config, size_t cpus) { return rings_of(config, cpus).bytes(); }

std::optional<std::string> flight_memory_problem(const FlightConfig& config, uint64_t freed) {
  const uint64_t available = machine_memory("MemAvailable");
  return flight_memory_problem(config, online_cpus().size(),
                               available == 0 ? 0 : available + freed);
}

std::optional<std::string> flight_memory_problem(const FlightConfig& config, size_t cpus,
                                                 uint64_t memory) {
  const RingMemory rings = flight_rings(config, cpus);
  if (memory == 0 || rings.bytes() <= memory) return std::nullopt;
  return fmt::format("the new {}, but now there are only {} MiB: choose smaller ones", rings.text(),
                     memory >> 20);
}

std::optional<std::string> memory_problem(const Config& config, size_t cpus, uint64_t memory,
                                          std::string_view what) {
  const RingMemory rings = rings_of(config, cpus);
  if (memory == 0 || rings.bytes() <= memory) return std::nullopt;
  return fmt::format("the {}, but {} {} MiB: choose smaller ones", rings.text(), what,
                     memory >> 20);
}

uint64_t meminfo_bytes(std::string_view meminfo, std::string_view key) {
  return number_behind<uint64_t>(fmt::format("{}:", key), meminfo).value_or(0) << 10;
}

ConfigFindings check_config(const Config& config, const Schema& schema) {
  ConfigFindings findings;
  check_events(config, schema, findings);
  check_tracepoints(config, findings);
  check_memory(config, "MemTotal", "this machine has", findings.problems);
  return findings;
}

Result<ConfigFindings> try_config(const Config& config, const Schema& schema) {
  ConfigFindings findings = check_config(config, schema);
  if (!findings.problems.empty()) return findings;
  check_memory(config, "MemAvailable", "now there are only", findings.problems);
  if (!findings.problems.empty()) return findings;
  Config trial = config;
  trial.bpffs.clear();  // pins nothing
  const TrialLog log(config.log.level);
  KernelSymbols symbols;
  auto tracer =
      Tracer::create(trial, symbols, [](std::span<const PacketBytes>, bool) { return true; });
  if (!tracer && tracer.error().code == ExitCode::no_permission) return propagate(tracer);
  if (!tracer) {
    findings.problems.push_back(tracer.error().message);
    return findings;
  }
  // Attaches all programs, even if the flight recorder is off. The output gets no sink.
  std::vector<Result<SessionControl::Open>> sessions;
  const auto open = [&](std::optional<EventSet> events) {
    SessionRequest request;
    request.events = std::move(events);
    sessions.push_back((*tracer)->parts().session_control.open(
        request, [](uint32_t) { return [](std::span<const PacketBytes>, bool) { return true; }; }));
    if (!sessions.back()) findings.problems.push_back(sessions.back().error().message);
  };
  open({});
  if (const auto& events = (*tracer)->parts().sessions.output().own_events) open(events);
  collect_failures(**tracer, trial, findings);
  (*tracer)->shut_down(false);
  return findings;
}

}  // namespace ktraced
