// SPDX-License-Identifier: BSD-2-Clause
// The flight recorder: the newest history of every enabled event, in memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/mapping.h"
#include "kernel/bank_log.h"
#include "kernel/bpf_object.h"
#include "kernel/counters.h"
#include "kernel/program_barrier.h"
#include "trace/packet.h"

namespace ktraced {

// One flight ring (struct flight_header) that no program writes to, or that is read
// knowing that they do.
class FlightRing {
 public:
  // Makes the map of a ring, or opens one that exists. Fail with ExitCode::os.
  static Result<FlightRing> make(uint32_t cpu, uint32_t bank, size_t bytes);
  static Result<FlightRing> open(Fd map, size_t bytes);

  // What a walk from the newest to the oldest record has found. One byte a record: a ring may
  // hold many millions.
  struct Walk {
    std::vector<uint8_t> sizes;  // of the whole records, newest first, in units of 8 bytes
    uint64_t head = 0;           // position of the newest
    uint64_t bytes = 0;          // of all of them
    bool intact = true;          // false: ended at bytes that cannot be a record
  };
  [[nodiscard]] Walk walk() const;

  // Calls `visit(record bytes)` for the records of a walk, oldest first. The bytes stay valid
  // until clear().
  template <class Visit>
  void for_each_oldest_first(const Walk& walk, Visit&& visit) const {
    uint64_t end = walk.bytes;
    for (size_t i = walk.sizes.size(); i-- > 0;) {
      const size_t size = size_t{walk.sizes[i]} * 8;
      end -= size;
      visit(std::span<const std::byte>(at(walk.head + end), size));
    }
  }

  // Adds to `sums`, by event id, the records that have been overwritten. Returns the time of the
  // oldest record that has not been; 0 if none has.
  uint64_t add_overwritten(std::vector<uint64_t>& sums) const;
  // Records written since it was empty, by event id, and all their bytes; overwritten ones
  // included.
  [[nodiscard]] std::vector<uint64_t> written() const;
  [[nodiscard]] uint64_t written_bytes() const;
  // Records of an event written since it was made.
  [[nodiscard]] uint64_t ever_written(uint16_t event) const;
  [[nodiscard]] size_t capacity() const { return bytes_; }
  // Of what it holds.
  [[nodiscard]] uint64_t history_bytes() const;
  // Empties the ring. Done twice it does no harm.
  void clear();

  [[nodiscard]] int map_fd() const { return map_.get(); }
  // Memory it takes, in bytes.
  [[nodiscard]] size_t memory() const { return mapping_.size(); }

 private:
  FlightRing(Fd map, Mapping mapping, size_t bytes)
      : map_(std::move(map)), mapping_(std::move(mapping)), bytes_(bytes) {}
  [[nodiscard]] flight_header& header() const {
    return *reinterpret_cast<flight_header*>(mapping_.data());
  }
  [[nodiscard]] const std::byte* at(uint64_t position) const {
    return mapping_.data() + sizeof(flight_header) + (position & (bytes_ - 1));
  }

  Fd map_;
  Mapping mapping_;
  size_t bytes_;
};

// Owns the banks of flight rings. One bank is written to, the others are spare or
// frozen by a snapshot; memory is used only while the recorder is on.
// Belongs to the main thread; a frozen bank's rings may be read by any thread.
class FlightRecorder {
 public:
  // A bank taken out of use: what was recorded up to the swap.
  struct Frozen {
    uint32_t bank = 0;
    uint64_t begin_ts = 0;  // when the bank was taken into use; ns, CLOCK_BOOTTIME
    uint64_t swap_ts = 0;   // when it was taken out of use; no other bank of this boot has it
    std::map<std::string, uint64_t> missed;  // hits the kernel skipped meanwhile, by event
    // The daemon ended while it took the bank out of use: `missed` are those up to the next one.
    bool counted_late = false;
    std::string name;                             // of the trace that it was being written to
    std::map<uint32_t, const FlightRing*> rings;  // by CPU
  };

  // `sizes` are those the object was loaded with. `object`, `schema` and `counters` must outlive
  // this.
  FlightRecorder(const BpfObject& object, const BpfSizes& sizes, const Schema& schema,
                 Counters& counters, BankLog::CountMissed count_missed);

  // Allocates the banks and lets the programs write, or takes over the banks of an earlier
  // daemon whose programs still do. Fails with ExitCode::os.
  Result<> enable(const std::vector<uint32_t>& cpus);
  // Stops, and gives the memory back. No bank may be frozen.
  void disable();
  [[nodiscard]] bool enabled() const { return enabled_; }
  // Gives a CPU that has come online its rings. Fails with ExitCode::os.
  Result<> add_cpu(uint32_t cpu);
  [[nodiscard]] bool has_cpu(uint32_t cpu) const {
    return !banks_.empty() && banks_.back().rings.contains(cpu);
  }

  // Could swap() be called now? Fails as it would.
  [[nodiscard]] Result<> ready() const;
  // Lets the programs go on in a spare bank and freezes the one they used: a record is in
  // the one or in the other. Returns when no program writes to it any more. Fails with
  // ExitCode::unavailable if the recorder is off or no bank is spare.
  Result<Frozen> swap();
  // Banks that an earlier daemon froze but did not live to save, oldest first; their history is
  // still there.
  [[nodiscard]] std::vector<Frozen> unfinished() const;
  // The trace that a frozen bank is being written to: for a daemon that finds it unfinished.
  void set_name(uint32_t bank, const std::string& name) { log_->set_name(bank, name); }
  // Empties a frozen bank and makes it spare.
  void release(uint32_t bank);
  // Discards the history up to now, and returns the number of its records. Banks that are frozen
  // keep theirs. Fails as swap().
  Result<uint64_t> empty();

  // How far the history goes back.
  struct Reach {
    // Records that newer ones have overwritten, by event id, since the recorder was made. Read
    // while programs write: what they are just about to overwrite may be missing.
    std::vector<uint64_t> overwritten;
    // From then on no record of any CPU is overwritten; ns, CLOCK_BOOTTIME; 0: it is off.
    uint64_t since_ns = 0;
  };
  [[nodiscard]] Reach reach() const;

  // Records that the rings of a CPU have counted: they are missing in its counters.
  [[nodiscard]] uint64_t recorded(uint32_t cpu, uint16_t event) const;

  // Memory of all banks, and what the history in the one in use takes of it; bytes.
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

  Result<> put_into_use(uint32_t bank, uint32_t cpu, const FlightRing& ring) const;
  [[nodiscard]] bool in_use(uint32_t bank, uint32_t cpu) const;
  Result<> add_ring(uint32_t bank, uint32_t cpu);
  void give_up(uint32_t bank, uint32_t cpu, const FlightRing& ring);
  void find_frozen();
  void write_to(uint32_t bank);
  [[nodiscard]] uint32_t written_bank() const;
  [[nodiscard]] Frozen frozen(uint32_t bank) const;

  const BpfObject& object_;
  const Schema& schema_;
  Counters& counters_;
  BankLog::CountMissed count_missed_;
  struct control& control_;
  uint32_t possible_cpus_;
  BpfSizes sizes_;
  ProgramBarrier barrier_;
  bool enabled_ = false;
  std::vector<Bank> banks_;
  std::optional<BankLog> log_;                // while the recorder is on
  std::vector<uint64_t> overwritten_before_;  // by event, in banks released since
};

}  // namespace ktraced
