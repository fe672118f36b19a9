// SPDX-License-Identifier: BSD-2-Clause
// The flight recorder: the newest history of every enabled event, in memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kernel/programs/bpf_object.h"
#include "kernel/programs/program_barrier.h"
#include "kernel/rings/bank_log.h"
#include "kernel/rings/counters.h"
#include "kernel/rings/flight_memory.h"
#include "kernel/rings/flight_ring.h"

namespace ktraced {

// Owns the banks of flight rings. One bank is active, the others are spare or frozen by a snapshot.
// Memory is used only while the recorder is on. Belongs to the main thread; any thread may read the
// rings of a frozen bank.
class FlightRecorder {
 public:
  // An inactive bank with the history up to the swap.
  struct Frozen {
    uint32_t bank = 0;
    uint64_t begin_ts = 0;  // when the bank became active; ns, CLOCK_BOOTTIME
    uint64_t swap_ts = 0;   // when it became inactive; unique among the banks of this boot
    std::map<std::string, uint64_t> missed;  // hits missed between these times, by event
    // The daemon ended during the swap: `missed` includes hits up to the next swap.
    bool counted_late = false;
    std::string name;                             // of the trace that it was being saved to
    std::map<uint32_t, const FlightRing*> rings;  // by CPU
  };

  // `sizes` are those the object was loaded with. `object` and `counters` must outlive this.
  FlightRecorder(const BpfObject& object, const BpfSizes& sizes, Counters& counters, BankLog log);

  // Allocates the banks and lets the programs write, or adopts the banks of an earlier daemon,
  // whose programs still write. Fails with ExitCode::os.
  Result<> enable(const std::vector<uint32_t>& cpus);
  // Stops, and frees the memory. No bank may be frozen.
  void disable();
  [[nodiscard]] bool enabled() const { return enabled_; }
  // Makes what a swap needs besides the banks: then it cannot fail for want of it. Fails with
  // ExitCode::os.
  Result<> prepare() { return barrier_.prepare(); }
  // Makes the rings of a CPU that came online. Fails with ExitCode::os.
  Result<> add_cpu(uint32_t cpu);
  [[nodiscard]] bool has_cpu(uint32_t cpu) const {
    return !banks_.empty() && banks_.front().rings.contains(cpu);
  }

  // How many CPUs have rings.
  [[nodiscard]] size_t cpus() const { return banks_.empty() ? 0 : banks_.front().rings.size(); }

  // Would swap() succeed now? Fails as it would.
  [[nodiscard]] Result<> ready() const;
  // Activates a spare bank and freezes the active one: each record is in exactly one of them.
  // Returns when no program writes to the frozen bank any more. Fails with ExitCode::unavailable if
  // the recorder is off or no bank is spare.
  Result<Frozen> swap();
  // Banks that an earlier daemon froze but did not save, oldest first; their history is intact.
  // They have records, or were being saved.
  [[nodiscard]] std::vector<Frozen> unfinished() const;
  // Stores the trace that a frozen bank is being saved to, for a daemon that finds it unfinished.
  void set_name(uint32_t bank, const std::string& name) { log_.set_name(bank, name); }
  // Empties a frozen bank and makes it spare.
  void release(uint32_t bank);
  // Discards the history up to now, and returns the number of its records. Frozen banks keep
  // theirs. Fails as swap().
  Result<uint64_t> empty();

  // Extent of the history.
  struct Reach {
    // Records that newer ones have overwritten, by event id, since the recorder was created.
    // Programs may be writing during the read, so the latest overwritten records may be missing.
    std::vector<uint64_t> overwritten;
    // No record of any CPU since this time is overwritten; ns, CLOCK_BOOTTIME; 0: the recorder is
    // off.
    uint64_t since_ns = 0;
  };
  [[nodiscard]] Reach reach() const;

  // Records that the rings of a CPU have counted; its counters do not include them.
  [[nodiscard]] uint64_t recorded(uint32_t cpu, uint16_t event) const;
  // What recorded() and Reach::overwritten were when the bank in use was taken into use: exact
  // while programs write to it.
  [[nodiscard]] uint64_t recorded_before(uint32_t cpu, uint16_t event) const;
  [[nodiscard]] std::vector<uint64_t> overwritten_before() const;

  // Memory of all banks, and the part that the history in the active one uses; bytes.
  [[nodiscard]] size_t memory() const;
  [[nodiscard]] uint64_t history_bytes() const;
  [[nodiscard]] bool any_frozen() const;

 private:
  enum class Use { spare, written, frozen };
  struct Bank {
    Use use = Use::spare;
    bool counted_late = false;             // see Frozen
    std::map<uint32_t, FlightRing> rings;  // by CPU
  };

  Result<> add_ring(uint32_t bank, uint32_t cpu);
  void give_up(uint32_t bank, uint32_t cpu, const FlightRing& ring);
  void find_frozen();
  void write_to(uint32_t bank);
  [[nodiscard]] uint32_t written_bank() const;
  [[nodiscard]] Frozen frozen(uint32_t bank) const;

  const BpfObject& object_;
  Counters& counters_;
  struct control& control_;
  uint32_t possible_cpus_;
  BpfSizes sizes_;
  FlightMemory memory_;
  ProgramBarrier barrier_;
  bool enabled_ = false;
  std::vector<Bank> banks_;  // none while the recorder is off
  BankLog log_;
  std::vector<uint64_t> overwritten_before_;  // by event, in banks released since
};

}  // namespace ktraced
