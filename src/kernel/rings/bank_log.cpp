// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/bank_log.h"

#include <algorithm>

#include "base/clock.h"

namespace ktraced {

uint64_t BankLog::begin(uint32_t bank) {
  BankEntry& entry = banks_[bank];
  store_in_order(entry.end, 0);
  entry.name[0] = '\0';
  read_missed(entry.missed_at_begin);
  const uint64_t ts = boottime_ns();
  store_in_order(entry.begin, ts);
  return ts;
}

void BankLog::settle_begin(uint32_t bank) {
  LedgerCounts& counts = banks_[bank].missed_at_begin;
  for (const Event& event : schema_.events())
    counts[event.id] = std::min(counts[event.id], count_missed_(event));
}

void BankLog::end(uint32_t bank, uint64_t ts) {
  BankEntry& entry = banks_[bank];
  read_missed(entry.missed_at_end);
  store_in_order(entry.end, ts);
}

void BankLog::set_name(uint32_t bank, const std::string& name) {
  BankEntry& entry = banks_[bank];
  entry.name[name.copy(entry.name, sizeof(entry.name) - 1)] = '\0';
}

std::map<std::string, uint64_t> BankLog::missed(uint32_t bank) const {
  const BankEntry& entry = banks_[bank];
  std::map<std::string, uint64_t> missed;
  for (const Event& event : schema_.events()) {
    const uint64_t before = entry.missed_at_begin[event.id], now = entry.missed_at_end[event.id];
    if (now > before) missed[event.name] += now - before;  // an event may have been redefined
  }
  return missed;
}

void BankLog::read_missed(LedgerCounts& counts) const {
  counts.fill(0);  // an event that is defined later has no missed hits yet
  for (const Event& event : schema_.events()) counts[event.id] = count_missed_(event);
}

}  // namespace ktraced
