// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/stream/rings.h"

#include <spdlog/spdlog.h>

#include <map>

namespace ktraced {
namespace {

std::set<uint32_t> as_set(const std::vector<uint32_t>& cpus) { return {cpus.begin(), cpus.end()}; }

}  // namespace

Rings::Rings(const BpfObject& object, const Ledger& ledger, const BpfSizes& sizes,
             Counters counters, BankLog banks)
    : object_(object),
      cpus_(as_set(online_cpus())),
      counters_(std::move(counters)),
      account_(ledger.stream(), ledger.stream_cpus(),
               [this](uint32_t cpu, uint16_t event) {
                 return counters_.reported(SESSION_OUTPUT, cpu, event);
               }),
      flight_(object, sizes, counters_, std::move(banks)) {}

LostByCpu Rings::resume_account(const StreamRings& output) {
  std::map<uint32_t, uint64_t> consumed;
  for (const auto& [cpu, ring] : output.rings()) consumed[cpu] = ring.consumed();
  auto lost = account_.resume(consumed);
  if (!lost) return {};
  lost_before_ = 0;
  for (const auto& [cpu, events] : *lost)
    for (const Lost& each : events) *lost_before_ += each.count;
  return std::move(*lost);
}

Result<> Rings::switch_flight(bool enabled) {
  // An earlier daemon may have left it on.
  if (!enabled && !flight_.enabled() && object_.control().flight != 0) {
    spdlog::warn("discarded the history of an earlier daemon: \"flight.enabled\" is false");
    if (auto adopted = flight_.enable({cpus_.begin(), cpus_.end()}); !adopted) return adopted;
    flight_.disable();
  }
  if (enabled == flight_.enabled()) return {};
  if (enabled) return flight_.enable({cpus_.begin(), cpus_.end()});
  if (flight_.any_frozen())
    return fail(ExitCode::unavailable,
                "the flight recorder cannot be turned off while a snapshot is being written or "
                "pending");
  flight_.disable();
  return {};
}

Result<uint64_t> Rings::empty_flight() {
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

void Rings::add_new_cpus(Drain& drain, const RingMemory& of_one) {
  for (uint32_t cpu : online_cpus()) {
    if (cpus_.contains(cpu) && (!flight_.enabled() || flight_.has_cpu(cpu))) continue;
    auto added = check_memory_room(of_one);
    if (added && flight_.enabled()) added = flight_.add_cpu(cpu);
    if (added) added = drain.add_cpu(cpu);
    if (added) cpus_.insert(cpu);
    if (added)
      spdlog::info("CPU {} has come online and has got its rings", cpu);
    else
      spdlog::error("{}", added.error().message);
  }
}

LostByCpu Rings::flight_drops() const {
  LostByCpu drops;
  for (uint32_t cpu = 0; cpu < counters_.cpus(); ++cpu)
    if (auto lost = counters_.flight_drops(cpu); !lost.empty()) drops.emplace(cpu, std::move(lost));
  return drops;
}

void Rings::report_flight_drops(const LostByCpu& lost) {
  for (const auto& [cpu, events] : lost) counters_.report_flight_drops(cpu, events);
}

}  // namespace ktraced
