// SPDX-License-Identifier: BSD-2-Clause
#include "trace/directory/manifest.h"

#include <algorithm>

#include "schema/schema_json.h"

namespace ktraced {
namespace {

using nlohmann::json;

json to_json(const EventAccount& account) {
  return {
      {"records", account.records}, {"overwritten", account.overwritten}, {"lost", account.lost}};
}

json to_json(const CpuAccount& cpu) {
  json out = to_json(cpu.total());
  out["cpu"] = cpu.cpu;
  out["first_ns"] = cpu.first_ns;
  out["last_ns"] = cpu.last_ns;
  out["events"] = json::object();
  for (const auto& [name, account] : cpu.events) out["events"][name] = to_json(account);
  return out;
}

void add(EventAccount& sum, const EventAccount& account) {
  sum.records += account.records;
  sum.overwritten += account.overwritten;
  sum.lost += account.lost;
}

// For CPUs of either form; `total(cpu)` is the account of one.
template <class Cpus, class Total>
TraceWindow window_of_cpus(const Manifest& manifest, const Cpus& cpus, const Total& total) {
  TraceWindow window{.begin_ns = 0, .end_ns = manifest.end_ns, .furthest_ns = UINT64_MAX};
  uint64_t trace_ns = manifest.begin_ns;  // where CPUs without a beginning of their own begin
  for (const auto& cpu : cpus) {
    if (cpu.first_ns != 0) trace_ns = std::min(trace_ns, cpu.first_ns);
    window.end_ns = std::max(window.end_ns, cpu.last_ns);
  }
  for (const auto& cpu : cpus) {
    const bool cut = total(cpu).overwritten != 0 && cpu.first_ns != 0;
    if (cut) window.begin_ns = std::max({window.begin_ns, manifest.begin_ns, cpu.first_ns});
    window.furthest_ns = std::min(window.furthest_ns, cut ? cpu.first_ns : trace_ns);
  }
  if (cpus.empty()) window.furthest_ns = trace_ns;
  window.furthest_ns = std::min(window.furthest_ns, window.end_ns);
  window.begin_ns = std::clamp(window.begin_ns, window.furthest_ns, window.end_ns);
  return window;
}

}  // namespace

TraceWindow window_of(const Manifest& manifest) {
  return window_of_cpus(manifest, manifest.cpus, [](const CpuAccount& cpu) { return cpu.total(); });
}

TraceWindow window_of(const ManifestSummary& summary) {
  return window_of_cpus(summary.manifest, summary.cpus,
                        [](const ManifestSummary::Cpu& cpu) { return cpu.total; });
}

EventAccount CpuAccount::total() const {
  EventAccount sum;
  for (const auto& [name, account] : events) add(sum, account);
  return sum;
}

EventAccount Manifest::total() const {
  EventAccount sum;
  for (const CpuAccount& cpu : cpus) add(sum, cpu.total());
  return sum;
}

void add_losses(Manifest& manifest) {
  auto add = [&](std::string problem) {
    manifest.incomplete_because.push_back(std::move(problem));
  };
  for (const CpuAccount& cpu : manifest.cpus)
    for (const auto& [event, account] : cpu.events)
      if (account.lost != 0)
        add(fmt::format("CPU {}: {} {} events were lost", cpu.cpu, account.lost, event));
  for (const auto& [event, count] : manifest.missed)
    if (count != 0) add(fmt::format("the kernel skipped {} hits of {}", count, event));
}

json manifest_to_json(const Manifest& m) {
  json cpus = json::array();
  for (const CpuAccount& cpu : m.cpus) cpus.push_back(to_json(cpu));
  json out = to_json(m.total());
  out.update({{"format", m.schema.stacks ? Manifest::kFormat : Manifest::kFormat - 1},
              {"generator", "ktraced " KTRACED_VERSION},
              {"kind", m.kind == TraceKind::snapshot ? "snapshot" : "recording"},
              {"name", m.name},
              {"reason", m.reason},
              {"requested_by", m.requested_by},
              {"host", m.origin.host},
              {"kernel", m.origin.kernel},
              {"boot_id", m.origin.boot_id},
              {"uuid", uuid_text(m.origin.uuid)},
              {"clock_offset_ns", m.origin.clock_offset_ns},
              {"begin_ns", m.begin_ns},
              {"end_ns", m.end_ns},
              {"taken_realtime_ns", m.taken_realtime_ns},
              {"complete", m.complete()},
              {"incomplete_because", m.incomplete_because},
              {"missed", m.missed},
              {"cpus", std::move(cpus)},
              {"config", m.config},
              {"schema", schema_to_json(m.schema)}});
  if (m.since_ns != 0) out["since_ns"] = m.since_ns;
  if (!m.commands_complete) out["commands_complete"] = false;
  if (m.names_since_ns != 0) out["names_since_ns"] = m.names_since_ns;
  if (!m.previous.empty()) out["previous"] = m.previous;
  if (m.filtered) out["filtered"] = *m.filtered;
  return out;
}

}  // namespace ktraced
