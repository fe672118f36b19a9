// SPDX-License-Identifier: BSD-2-Clause
// Banks of other sizes for the flight recorder.
#include <bpf/bpf.h>

#include <atomic>
#include <cerrno>
#include <numeric>
#include <utility>

#include "kernel/rings/flight_recorder.h"
#include "kernel/rings/stream_rings.h"

namespace ktraced {
namespace {

std::string flight_pin(uint32_t bank, uint32_t cpu) {
  return fmt::format("flight_{}_{}", bank, cpu);
}

std::string retired_pin(uint32_t cpu) { return fmt::format("retired_{}", cpu); }

Result<> put_into(int rings, uint32_t index, const FlightRing& ring) {
  const int fd = ring.map_fd();
  if (bpf_map_update_elem(rings, &index, &fd, BPF_ANY) != 0)
    return fail(ExitCode::os, "cannot use a flight ring: {}", errno_text(errno));
  return {};
}

}  // namespace

Result<NewFlight> NewFlight::make(const BpfObject& object, const KernelFeatures& features,
                                  const BpfSizes& sizes, const std::vector<uint32_t>& cpus) {
  auto parts = object.load_sized(features, sizes);
  if (!parts) return propagate(parts);
  NewFlight next{.parts = std::move(*parts), .banks = {}};
  if (cpus.empty()) return next;
  next.banks.resize(sizes.flight_banks);
  for (uint32_t bank = 0; bank < sizes.flight_banks; ++bank)
    for (const uint32_t cpu : cpus) {
      auto ring = FlightRing::make(cpu, bank, sizes.flight_bytes);
      if (!ring) return propagate(ring);
      if (auto put = put_into(next.parts.maps.at("flight_rings").get(),
                              bank * possible_cpus() + cpu, *ring);
          !put)
        return propagate(put);
      next.banks[bank].emplace(cpu, std::move(*ring));
    }
  return next;
}

std::string FlightRecorder::pin_name(uint32_t bank, uint32_t cpu) const {
  return bank == retired_bank() ? retired_pin(cpu) : flight_pin(bank, cpu);
}

// Its rings have the sizes of an earlier configuration.
Result<> FlightRecorder::adopt_retired() {
  const Pins* pins = object_.pins();
  if (pins == nullptr) return {};
  for (uint32_t cpu = 0; cpu < possible_cpus_; ++cpu) {
    Fd map = pins->get(Pins::Kind::ring, retired_pin(cpu));
    if (!map) continue;
    auto ring = FlightRing::open(std::move(map));
    if (!ring) return propagate(ring);
    banks_.back().rings.emplace(cpu, std::move(*ring));
    banks_.back().use = Use::frozen;
  }
  return {};
}

Result<BankLog> FlightRecorder::stage(const NewFlight& next) const {
  if (const Pins* pins = object_.pins())
    for (uint32_t bank = 0; bank < next.banks.size(); ++bank)
      for (const auto& [cpu, ring] : next.banks[bank])
        if (auto done = pins->stage(Pins::Kind::ring, flight_pin(bank, cpu), ring.map_fd()); !done)
          return propagate(done);
  return BankLog::open(next.parts.maps.at("flight_banks").get(), next.parts.sizes.log_entries(),
                       schema_, count_missed_);
}

// Frees the rings of a bank that no program writes to. Returns the number of their records.
uint64_t FlightRecorder::discard(uint32_t bank) {
  std::vector<uint64_t> overwritten(EVENT_ID_MAX);
  uint64_t records = 0;
  for (const auto& [cpu, ring] : banks_[bank].rings) {
    for (const uint64_t count : ring.written()) records += count;
    ring.add_overwritten(overwritten);
    give_up(bank, cpu, ring);
  }
  for (size_t event = 0; event < overwritten.size(); ++event)
    overwritten_before_[event] += overwritten[event];
  return records - std::accumulate(overwritten.begin(), overwritten.end(), uint64_t{0});
}

// Its records stay counted by its rings.
void FlightRecorder::retire(uint32_t bank) {
  for (const auto& [cpu, ring] : banks_[bank].rings)
    if (const Pins* pins = object_.pins())
      static_cast<void>(pins->rename(Pins::Kind::ring, flight_pin(bank, cpu), retired_pin(cpu)));
}

uint64_t FlightRecorder::replace(NewFlight& next, BankLog log, bool keep) {
  const uint64_t now = log.begin(0);
  Bank retired{.use = Use::none, .counted_late = false, .rings = {}};
  uint64_t discarded = 0;
  if (enabled_) {
    const uint32_t old = written_bank();
    log_->end(old, now);
    for (uint32_t bank = 0; bank < sizes_.flight_banks; ++bank)
      if (bank != old || !keep) discarded += discard(bank);
    if (keep) {
      retire(old);
      log.copy(next.parts.sizes.flight_banks, *log_, old);
      retired = {.use = Use::frozen, .counted_late = false, .rings = std::move(banks_[old].rings)};
    }
  }
  sizes_ = next.parts.sizes;
  banks_.clear();
  enabled_ = !next.banks.empty();
  if (!enabled_) return discarded;
  for (auto& rings : next.banks)
    banks_.push_back({.use = Use::spare, .counted_late = false, .rings = std::move(rings)});
  banks_.front().use = Use::written;
  banks_.push_back(std::move(retired));
  log_ = std::move(log);
  write_to(0);
  std::atomic_ref(control_.flight).store(1);
  return discarded;
}

std::optional<FlightRecorder::Frozen> FlightRecorder::retired() const {
  if (banks_.empty() || banks_.back().use != Use::frozen) return std::nullopt;
  return frozen(retired_bank());
}

}  // namespace ktraced
