// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/bank_log.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>

#include "base/clock.h"

namespace ktraced {

Result<BankLog> BankLog::open(int map, uint32_t banks, const Schema& schema,
                              CountMissed count_missed) {
  auto mapping = Mapping::map(map, banks * sizeof(flight_bank), PROT_READ | PROT_WRITE);
  if (!mapping) return propagate(mapping);
  return BankLog(std::move(*mapping), schema, std::move(count_missed));
}

uint64_t BankLog::begin(uint32_t bank) {
  flight_bank& entry = this->entry(bank);
  std::atomic_ref(entry.end).store(0);
  entry.name[0] = '\0';
  read_missed(entry.missed_at_begin);
  const uint64_t ts = boottime_ns();
  std::atomic_ref(entry.begin).store(ts);
  return ts;
}

void BankLog::settle_begin(uint32_t bank) {
  flight_bank& entry = this->entry(bank);
  for (const Event& event : schema_->events())
    entry.missed_at_begin[event.id] =
        std::min<u64>(entry.missed_at_begin[event.id], count_missed_(event));
}

void BankLog::end(uint32_t bank, uint64_t ts) {
  flight_bank& entry = this->entry(bank);
  read_missed(entry.missed_at_end);
  std::atomic_ref(entry.end).store(ts);
}

void BankLog::set_name(uint32_t bank, const std::string& name) {
  flight_bank& entry = this->entry(bank);
  entry.name[name.copy(entry.name, sizeof(entry.name) - 1)] = '\0';
}

std::map<std::string, uint64_t> BankLog::missed(uint32_t bank) const {
  const flight_bank& entry = this->entry(bank);
  std::map<std::string, uint64_t> missed;
  for (const Event& event : schema_->events()) {
    const uint64_t before = entry.missed_at_begin[event.id], now = entry.missed_at_end[event.id];
    if (now > before) missed[event.name] += now - before;  // an event may have been redefined
  }
  return missed;
}

void BankLog::read_missed(u64 (&counts)[EVENT_ID_MAX]) const {
  // An event that is defined later has no missed hits yet.
  std::ranges::fill(counts, 0);
  for (const Event& event : schema_->events()) counts[event.id] = count_missed_(event);
}

}  // namespace ktraced
