// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/flight_recorder.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <numeric>

#include "kernel/rings/stream_rings.h"

namespace ktraced {

FlightRecorder::FlightRecorder(const BpfObject& object, const BpfSizes& sizes, Counters& counters,
                               BankLog log)
    : object_(object),
      counters_(counters),
      control_(object.control()),
      possible_cpus_(possible_cpus()),
      sizes_(sizes),
      memory_(object),
      log_(std::move(log)),
      overwritten_before_(EVENT_ID_MAX) {}

Result<> FlightRecorder::enable(const std::vector<uint32_t>& cpus) {
  if (enabled_) return {};
  if (auto prepared = prepare(); !prepared) return prepared;
  banks_.clear();
  banks_.resize(sizes_.flight_banks);
  for (uint32_t cpu : cpus)
    if (auto added = add_cpu(cpu); !added) {
      disable();
      return added;
    }
  const bool adopted = control_.flight != 0;
  if (!adopted) {
    write_to(0);
    log_.begin(0);
    std::atomic_ref(control_.flight).store(1);
  }
  banks_[written_bank()].use = Use::written;
  find_frozen();
  enabled_ = true;
  return {};
}

uint32_t FlightRecorder::written_bank() const { return control_.flight_slots / possible_cpus_; }

void FlightRecorder::write_to(uint32_t bank) {
  std::atomic_ref(control_.flight_slots).store(bank * possible_cpus_);
}

// A bank that is not active, and has records or the name of a trace, was frozen; the latest of them
// when the active bank became active. One without records was being saved, too, if it has a name:
// its trace says that nothing happened.
void FlightRecorder::find_frozen() {
  for (uint32_t number = 0; number < sizes_.flight_banks; ++number) {
    Bank& bank = banks_[number];
    const bool empty = std::ranges::all_of(
        bank.rings, [](const auto& entry) { return entry.second.written_bytes() == 0; });
    if (bank.use == Use::written) continue;
    if (empty && log_.name(number).empty()) {
      for (auto& [cpu, ring] : bank.rings) ring.clear();
      continue;
    }
    bank.use = Use::frozen;
    if (log_.end_ns(number) != 0) continue;
    log_.end(number, log_.begin_ns(written_bank()));
    bank.counted_late = true;
  }
}

void FlightRecorder::disable() {
  std::atomic_ref(control_.flight).store(0);
  barrier_.wait();
  for (uint32_t bank = 0; bank < banks_.size(); ++bank)
    for (const auto& [cpu, ring] : banks_[bank].rings) give_up(bank, cpu, ring);
  banks_.clear();
  enabled_ = false;
}

// No program may write to the ring. No daemon finds it any more before its count is added
// elsewhere, so that none counts it twice.
void FlightRecorder::give_up(uint32_t bank, uint32_t cpu, const FlightRing& ring) {
  memory_.hide(bank, cpu, ring);
  for (uint16_t event = 0; event < EVENT_ID_MAX; ++event)
    if (const uint64_t records = ring.ever_written(event); records != 0)
      counters_.add_released(cpu, event, records);
  memory_.free(bank, cpu, ring);
}

Result<> FlightRecorder::add_cpu(uint32_t cpu) {
  for (uint32_t bank = 0; bank < sizes_.flight_banks; ++bank)
    if (auto added = add_ring(bank, cpu); !added) return added;
  return {};
}

Result<> FlightRecorder::add_ring(uint32_t bank, uint32_t cpu) {
  if (banks_[bank].rings.contains(cpu)) return {};
  // While nothing is recorded, a ring is left over from a daemon that died.
  auto adopted = control_.flight != 0 ? memory_.adopt(bank, cpu, sizes_.flight_bytes)
                                      : Result<std::optional<FlightRing>>();
  if (!adopted) return propagate(adopted);
  auto ring = *adopted ? Result<FlightRing>(std::move(**adopted))
                       : memory_.make(bank, cpu, sizes_.flight_bytes);
  if (!ring) return propagate(ring);
  // Keep it before a program can count in it.
  if (!*adopted)
    if (auto kept = memory_.keep(bank, cpu, *ring); !kept) return kept;
  if (auto shown = memory_.show(bank, cpu, *ring); !shown) return shown;
  banks_[bank].rings.emplace(cpu, std::move(*ring));
  return {};
}

Result<> FlightRecorder::ready() const {
  if (!enabled_)
    return fail(ExitCode::unavailable,
                "the flight recorder is off: turn it on with 'ktracectl snapshot enable' or "
                "\"flight\": {{\"enabled\": true}}");
  if (std::ranges::none_of(banks_, [](const Bank& bank) { return bank.use == Use::spare; }))
    return fail(ExitCode::unavailable,
                "no spare bank: another snapshot is still being written; wait for it, or set "
                "flight.banks above {}",
                sizes_.flight_banks);
  return {};
}

Result<FlightRecorder::Frozen> FlightRecorder::swap() {
  if (auto possible = ready(); !possible) return propagate(possible);
  auto spare = std::ranges::find(banks_, Use::spare, &Bank::use);
  const auto next = static_cast<uint32_t>(spare - banks_.begin());
  const uint32_t old = written_bank();
  const uint64_t swap_ts = log_.begin(next);
  write_to(next);
  spare->use = Use::written;
  banks_[old].use = Use::frozen;
  banks_[old].counted_late = false;
  barrier_.wait();  // for programs that have read the old bank number
  log_.settle_begin(next);
  log_.end(old, swap_ts);
  return frozen(old);
}

FlightRecorder::Frozen FlightRecorder::frozen(uint32_t bank) const {
  Frozen frozen{.bank = bank,
                .begin_ts = log_.begin_ns(bank),
                .swap_ts = log_.end_ns(bank),
                .missed = log_.missed(bank),
                .counted_late = banks_[bank].counted_late,
                .name = log_.name(bank),
                .rings = {}};
  for (const auto& [cpu, ring] : banks_[bank].rings) frozen.rings.emplace(cpu, &ring);
  return frozen;
}

std::vector<FlightRecorder::Frozen> FlightRecorder::unfinished() const {
  std::vector<Frozen> found;
  for (uint32_t bank = 0; bank < banks_.size(); ++bank)
    if (banks_[bank].use == Use::frozen) found.push_back(frozen(bank));
  std::ranges::sort(found, {}, &Frozen::swap_ts);
  return found;
}

void FlightRecorder::release(uint32_t bank) {
  log_.set_name(bank, {});
  for (auto& [cpu, ring] : banks_[bank].rings) {
    ring.add_overwritten(overwritten_before_, true);
    ring.clear();
  }
  banks_[bank].use = Use::spare;
}

Result<uint64_t> FlightRecorder::empty() {
  auto old = swap();
  if (!old) return propagate(old);
  uint64_t records = 0;
  for (const auto& [cpu, ring] : old->rings)
    for (const uint64_t count : ring->written()) records += count;
  auto sum = [](const std::vector<uint64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  };
  const uint64_t overwritten_before = sum(overwritten_before_);
  release(old->bank);
  return records - (sum(overwritten_before_) - overwritten_before);
}

FlightRecorder::Reach FlightRecorder::reach() const {
  Reach reach{.overwritten = overwritten_before_};
  if (enabled_) reach.since_ns = log_.begin_ns(written_bank());
  for (const Bank& bank : banks_)
    for (const auto& [cpu, ring] : bank.rings) {
      const bool written = bank.use == Use::written;
      const uint64_t oldest_ns = ring.add_overwritten(reach.overwritten, !written);
      if (written) reach.since_ns = std::max(reach.since_ns, oldest_ns);
    }
  return reach;
}

uint64_t FlightRecorder::recorded(uint32_t cpu, uint16_t event) const {
  uint64_t sum = 0;
  for (const Bank& bank : banks_)
    if (const auto ring = bank.rings.find(cpu); ring != bank.rings.end())
      sum += ring->second.ever_written(event);
  return sum;
}

uint64_t FlightRecorder::recorded_before(uint32_t cpu, uint16_t event) const {
  uint64_t sum = 0;
  for (const Bank& bank : banks_)
    if (const auto ring = bank.rings.find(cpu); ring != bank.rings.end())
      sum += bank.use == Use::written ? ring->second.written_before(event)
                                      : ring->second.ever_written(event);
  return sum;
}

std::vector<uint64_t> FlightRecorder::overwritten_before() const {
  std::vector<uint64_t> sums = overwritten_before_;
  for (const Bank& bank : banks_)
    if (bank.use == Use::frozen)
      for (const auto& [cpu, ring] : bank.rings) ring.add_overwritten(sums, true);
  return sums;
}

size_t FlightRecorder::memory() const {
  size_t sum = 0;
  for (const Bank& bank : banks_)
    for (const auto& [cpu, ring] : bank.rings) sum += ring.memory();
  return sum;
}

uint64_t FlightRecorder::history_bytes() const {
  uint64_t sum = 0;
  for (const Bank& bank : banks_)
    if (bank.use == Use::written)
      for (const auto& [cpu, ring] : bank.rings) sum += ring.history_bytes();
  return sum;
}

bool FlightRecorder::any_frozen() const {
  return std::ranges::any_of(banks_, [](const Bank& bank) { return bank.use == Use::frozen; });
}

}  // namespace ktraced
