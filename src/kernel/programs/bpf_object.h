// SPDX-License-Identifier: BSD-2-Clause
// The BPF programs and maps in the running kernel.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "base/mapping.h"
#include "bpf/shared_state.h"
#include "kernel/arena/arena.h"
#include "kernel/pins/pins.h"
#include "kernel/programs/detaching_links.h"
#include "schema/schema.h"

namespace ktraced {

struct KernelFeatures;

// The bytes of the BPF object as built into this program; its BTF holds the schema.
[[nodiscard]] std::span<const std::byte> bpf_object_bytes();
// The bytes of the built-in object with the programs that record events with stacks.
[[nodiscard]] std::span<const std::byte> stack_object_bytes();
// The bytes of all built-in objects: of the events, the probes, the system calls and the stacks.
[[nodiscard]] std::array<std::span<const std::byte>, 4> all_bpf_objects();

// Sizes that cannot change after loading.
struct BpfSizes {
  uint32_t flight_bytes = 64U << 10;  // of each flight ring; a power of two
  uint32_t flight_banks = 2;

  bool operator==(const BpfSizes&) const = default;
};

// What the kernel has measured of programs, by name, while its statistics were on.
struct ProgramRuns {
  uint64_t runs = 0;
  uint64_t run_ns = 0;

  ProgramRuns& operator+=(const ProgramRuns& other) {
    runs += other.runs;
    run_ns += other.run_ns;
    return *this;
  }
};
using RunsByProgram = std::map<std::string, ProgramRuns>;

// Owns the loaded maps and programs and the programs' attachments. Programs are
// loaded but not attached; an event whose program is detached costs nothing.
//
// With pins, everything outlives the daemon: the next one adopts it, if it was built
// with the same programs and sizes.
class BpfObject {
 public:
  // Identifies the programs of this build, as they are loaded for these features.
  [[nodiscard]] static std::string identity(const KernelFeatures& features);
  // Adopts the pinned objects of an earlier daemon, including attachments; returns nothing if they
  // are missing or incomplete. Loads nothing. Fails as Pins::damaged() if a pin is another object
  // than the one that a daemon of this build and these sizes pins there.
  static Result<std::optional<BpfObject>> adopt(const KernelFeatures& features,
                                                const BpfSizes& sizes, Pins pins);
  // Loads every program whose hook this kernel has. A program the kernel refuses
  // is left out and listed in unavailable(). Fails with ExitCode::no_permission
  // or ExitCode::unavailable when nothing can be loaded.
  static Result<BpfObject> load(const Schema& schema, const KernelFeatures& features,
                                const BpfSizes& sizes);

  // Pins everything, now and from now on. Fails with ExitCode::os.
  Result<> persist(Pins pins);
  // The pin directory; null if nothing is pinned.
  [[nodiscard]] const Pins* pins() const { return pins_ ? &*pins_ : nullptr; }

  // Attaches or detaches the program of an event (or a helper program) by name. Attaching twice is
  // no error. Attaching soon after detaching waits until the old attachment is gone; otherwise the
  // program would run twice for each hit. Fails with ExitCode::unavailable.
  Result<> attach(const std::string& program);
  // The kernel may still run a detached program for some milliseconds: a pinned link outlives its
  // pin and its descriptor by an RCU grace period.
  void detach(const std::string& program);
  [[nodiscard]] bool attached(const std::string& program) const;
  // Is it detached but may still run? attach() waits until it does not.
  [[nodiscard]] bool detaching(const std::string& program);
  // Returns when it does not.
  void wait_until_detached(const std::string& program) { detaching_.wait(program); }

  // Hits that the kernel missed because the event's program was already running on that CPU; since
  // loading, sum of all CPUs.
  [[nodiscard]] uint64_t missed(const std::string& program) const;

  // Adds what the kernel has measured of each program.
  void add_runs(RunsByProgram& runs) const;

  // Event or program name → why this kernel does not support it.
  [[nodiscard]] const std::map<std::string, std::string>& unavailable() const {
    return unavailable_;
  }

  // Descriptor of a loaded program, owned by this object, for callers that attach it themselves.
  // Fails with ExitCode::unavailable if the kernel refused it.
  [[nodiscard]] Result<int> program(const std::string& name) const;

  // State that the programs read; the daemon changes it in place.
  [[nodiscard]] struct control& control() const {
    return *reinterpret_cast<struct control*>(control_.data());
  }
  // The memory of rings; null: they are maps.
  [[nodiscard]] Arena* arena() const { return arena_.get(); }
  // File descriptor of a map of bpf/maps.h, owned by this object.
  [[nodiscard]] int map_fd(const std::string& name) const;
  // The number of elements of a map, or of bytes for a ring buffer.
  [[nodiscard]] uint32_t map_capacity(const std::string& name) const;

 private:
  struct Program {
    Fd fd;
    std::string tracepoint;  // where it attaches
  };

  BpfObject() = default;
  static Result<BpfObject> load_once(const Schema& schema, const KernelFeatures& features,
                                     const BpfSizes& sizes);
  Result<> open_arena();
  Result<> map_control();
  Result<> calibrate();

  std::map<std::string, Fd> maps_;
  std::map<std::string, Program> programs_;
  std::map<std::string, Fd> links_;  // by program
  DetachingLinks detaching_;
  Mapping control_;
  std::unique_ptr<Arena> arena_;
  std::string no_arena_;  // why there is none
  std::map<std::string, std::string> unavailable_;
  std::optional<Pins> pins_;
};

// The runs of a loaded program; zero if unknown.
[[nodiscard]] ProgramRuns runs_of(int program);

// The table of the arena that has the flight rings, for `map` of struct layout; 0: the rings are
// maps.
[[nodiscard]] uint32_t flight_places_of(int map);

// Attaches a program to a raw tracepoint, unless it was loaded for one: then to that. No
// descriptor, and errno, if the kernel refuses it.
[[nodiscard]] Fd attach_raw_tracepoint(int program, const std::string& tracepoint);

// When a program was loaded, CLOCK_BOOTTIME; 0 if unknown.
[[nodiscard]] uint64_t load_time_of(int program);

// Hits of a program that the kernel missed; 0 if unknown.
[[nodiscard]] uint64_t recursion_misses(int program);

}  // namespace ktraced
