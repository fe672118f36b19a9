// SPDX-License-Identifier: BSD-2-Clause
// Banks of other sizes for the flight recorder.
#include <atomic>
#include <numeric>
#include <utility>

#include "kernel/rings/flight_recorder.h"
#include "kernel/rings/stream_rings.h"

namespace ktraced {
NewFlight& NewFlight::operator=(NewFlight&& other) noexcept {
  std::swap(parts, other.parts);
  std::swap(memory, other.memory);
  std::swap(banks, other.banks);
  return *this;
}

NewFlight::~NewFlight() {
  for (uint32_t bank = 0; bank < banks.size(); ++bank)
    for (const auto& [cpu, ring] : banks[bank]) {
      if (ring.place() != 0) memory->hide(bank, cpu, ring);
      memory->free(bank, cpu, ring);
    }
}

Result<NewFlight> NewFlight::make(const BpfObject& object, const KernelFeatures& features,
                                  const BpfSizes& sizes, const std::vector<uint32_t>& cpus) {
  auto parts = object.load_sized(features, sizes);
  if (!parts) return propagate(parts);
  NewFlight next;
  next.parts = std::move(*parts);
  const FlightMemory memory(object, next.parts.maps.at("flight_rings").get(),
                            next.parts.maps.at(".rodata.layout").get());
  next.memory = memory;
  if (cpus.empty()) return next;
  next.banks.resize(sizes.flight_banks);
  for (uint32_t bank = 0; bank < sizes.flight_banks; ++bank)
    for (const uint32_t cpu : cpus) {
      auto ring = memory.make(bank, cpu, sizes.flight_bytes);
      if (!ring) return propagate(ring);
      const auto added = next.banks[bank].emplace(cpu, std::move(*ring)).first;
      if (auto shown = memory.show(bank, cpu, added->second); !shown) return propagate(shown);
    }
  return next;
}

// Adopts the retired bank, whose rings have the sizes of an earlier configuration.
Result<> FlightRecorder::adopt_retired() {
  for (uint32_t cpu = 0; cpu < possible_cpus_; ++cpu) {
    auto ring = memory_.adopt(FlightMemory::kRetired, cpu, 0);
    if (!ring) return propagate(ring);
    if (!*ring) continue;
    banks_.back().rings.emplace(cpu, std::move(**ring));
    banks_.back().use = Use::frozen;
  }
  return {};
}

Result<BankLog> FlightRecorder::stage(const NewFlight& next) const {
  for (uint32_t bank = 0; bank < next.banks.size(); ++bank)
    for (const auto& [cpu, ring] : next.banks[bank])
      if (auto done = next.memory->stage(bank, cpu, ring); !done) return propagate(done);
  return BankLog::open(next.parts.maps.at("flight_banks").get(), next.parts.sizes.log_entries(),
                       schema_, count_missed_);
}

// Frees the rings of a bank that no program writes to. Returns the number of their records.
uint64_t FlightRecorder::discard(uint32_t bank) {
  std::vector<uint64_t> overwritten(EVENT_ID_MAX);
  uint64_t records = 0;
  for (const auto& [cpu, ring] : banks_[bank].rings) {
    for (const uint64_t count : ring.written()) records += count;
    ring.add_overwritten(overwritten, true);
    give_up(bank, cpu, ring);
  }
  for (size_t event = 0; event < overwritten.size(); ++event)
    overwritten_before_[event] += overwritten[event];
  return records - std::accumulate(overwritten.begin(), overwritten.end(), uint64_t{0});
}

// Makes a bank the retired one. Its records stay counted by its rings.
void FlightRecorder::retire(uint32_t bank) {
  for (const auto& [cpu, ring] : banks_[bank].rings) memory_.retire(bank, cpu, ring);
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
  memory_ = *next.memory;
  banks_.clear();
  enabled_ = !next.banks.empty();
  if (!enabled_) return discarded;
  for (auto& rings : std::exchange(next.banks, {}))
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
