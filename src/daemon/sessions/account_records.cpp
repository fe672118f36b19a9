// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/sessions/account_records.h"

#include "base/clock.h"
#include "trace/metadata/account_record.h"

namespace ktraced {

std::vector<std::byte> account_records(const SessionAccounts& accounts, uint32_t session) {
  const uint64_t now = boottime_ns();
  const uint64_t reset_ns = accounts.reset_ns(session);
  HitAccount sum;
  std::vector<std::byte> records;
  const auto add = [&](uint32_t event, const HitAccount& hits) {
    const auto record = account_record({.event = event, .hits = hits, .reset_ns = reset_ns}, now);
    records.insert(records.end(), record.begin(), record.end());
  };
  for (const auto& [event, reading] : accounts.read_all(session)) {
    const EventCounters& counters = reading.counters;
    const HitAccount hits{.recorded = counters.counts.recorded,
                          .filtered = counters.counts.filtered,
                          .dropped = counters.counts.dropped,
                          .missed = counters.missed};
    add(event, hits);
    sum += hits;
  }
  add(0, sum);
  return records;
}

}  // namespace ktraced
