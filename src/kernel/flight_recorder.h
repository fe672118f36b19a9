// The flight recorder: the newest history of every enabled event, in memory.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/mapping.h"
#include "kernel/bpf_object.h"
#include "trace/packet.h"

namespace ktraced {

// One flight ring (struct flight_header) that no program writes to, or that is read
// knowing that they do.
class FlightRing {
 public:
  // Makes the map of a ring. Fails with ExitCode::os.
  static Result<FlightRing> make(uint32_t cpu, uint32_t bank, size_t bytes);

  // Records from newest to oldest, as far back as they are whole. Stops early, and says so
  // in `intact`, at bytes that cannot be a record.
  struct Walk {
    std::vector<std::span<const std::byte>> newest_first;
    bool intact = true;
  };
  [[nodiscard]] Walk walk() const;

  // Records ever written, by event id; overwritten ones included.
  [[nodiscard]] std::span<const u64> written() const;
  // Empties the ring.
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
    uint64_t swap_ts = 0;   // when it was taken out of use
    std::map<uint32_t, const FlightRing*> rings;  // by CPU
  };

  // `bytes` and the number of banks are those the object was loaded with.
  FlightRecorder(const BpfObject& object, const BpfSizes& sizes);

  // Allocates the banks and lets the programs write. Fails with ExitCode::os.
  Result<> enable(const std::vector<uint32_t>& cpus);
  // Stops, and gives the memory back. No bank may be frozen.
  void disable();
  [[nodiscard]] bool enabled() const { return enabled_; }
  // Gives a CPU that has come online its rings. Fails with ExitCode::os.
  Result<> add_cpu(uint32_t cpu);

  // Lets the programs go on in a spare bank and freezes the one they used: a record is in
  // the one or in the other. Returns when no program writes to it any more. Fails with
  // ExitCode::unavailable if the recorder is off or no bank is spare.
  Result<Frozen> swap();
  // Empties a frozen bank and makes it spare.
  void release(uint32_t bank);

  [[nodiscard]] size_t memory() const;
  [[nodiscard]] bool any_frozen() const;

 private:
  enum class Use { spare, written, frozen };
  struct Bank {
    Use use = Use::spare;
    uint64_t begin_ts = 0;
    std::map<uint32_t, FlightRing> rings;  // by CPU
  };

  Result<> put_into_use(uint32_t bank, uint32_t cpu, const FlightRing& ring) const;
  void wait_for_programs() const;

  int outer_map_;
  struct control& control_;
  uint32_t possible_cpus_;
  BpfSizes sizes_;
  bool enabled_ = false;
  std::vector<Bank> banks_;
};

}  // namespace ktraced
