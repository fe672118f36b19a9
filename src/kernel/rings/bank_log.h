// SPDX-License-Identifier: BSD-2-Clause
// When each bank of the flight recorder was active.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "kernel/pins/ledger.h"
#include "schema/schema.h"

namespace ktraced {

// Records when a bank became active and inactive, and the missed hits up to these times. It lives
// as long as the rings, so that a daemon that adopts them knows their history. The readings
// overlap: a hit missed while banks change is counted for both.
class BankLog {
 public:
  // Returns how many hits of an event the kernel has missed so far, while the recorder had it on.
  using CountMissed = std::function<uint64_t(const Event& event)>;

  // `banks`, those of the Ledger, and `schema` must outlive this.
  BankLog(std::span<BankEntry> banks, const Schema& schema, CountMissed count_missed)
      : banks_(banks), schema_(schema), count_missed_(std::move(count_missed)) {}

  // Call it right before the bank becomes active. Returns the time, ns, CLOCK_BOOTTIME.
  uint64_t begin(uint32_t bank);
  // Call it when all hits that were in flight at begin() have ended: those that a catcher has
  // recorded meanwhile were not missed.
  void settle_begin(uint32_t bank);
  // The bank became inactive at `ts`, and no program writes to it any more.
  void end(uint32_t bank, uint64_t ts);

  // The name of the trace that the bank is being saved to, less than 256 bytes; empty: it is not.
  // Kept until begin().
  void set_name(uint32_t bank, const std::string& name);
  [[nodiscard]] std::string name(uint32_t bank) const { return banks_[bank].name; }

  [[nodiscard]] uint64_t begin_ns(uint32_t bank) const { return banks_[bank].begin; }
  // 0: end() was not called since begin().
  [[nodiscard]] uint64_t end_ns(uint32_t bank) const { return banks_[bank].end; }
  // Hits missed between begin() and end(), by event; without events that have none.
  [[nodiscard]] std::map<std::string, uint64_t> missed(uint32_t bank) const;

 private:
  void read_missed(LedgerCounts& counts) const;

  std::span<BankEntry> banks_;
  const Schema& schema_;
  CountMissed count_missed_;
};

}  // namespace ktraced
