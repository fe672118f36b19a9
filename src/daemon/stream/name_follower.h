// SPDX-License-Identifier: BSD-2-Clause
// The names of threads, slab caches and control groups as they change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/error.h"
#include "kernel/programs/bpf_object.h"
#include "kernel/rings/counters.h"
#include "kernel/rings/ring_reader.h"
#include "kernel/symbols/kernel_names.h"
#include "trace/metadata/lost_names.h"

namespace ktraced {

// What has changed in a time, as metadata records.
struct NameChanges {
  LostNamesWindow window;
  std::vector<std::byte> records;
  bool lost = false;    // it is too much: there are no records
  bool behind = false;  // the last names of that time have to be sent again, see last_since()
};

// Any user can rename threads, fork and exec as fast as the machine can. So there is a limit of
// what is followed. Belongs to the drain thread.
class NameFollower {
 public:
  // Bytes of records, which are some 60,000 changes. A reader must be able to take twice as much,
  // and what last_since() has.
  static constexpr uint64_t kBytesPerSecond = 4U << 20;

  // Everything referred to must outlive this. Fails with ExitCode::os.
  static Result<NameFollower> open(const BpfObject& object, const Counters& counters,
                                   const KernelNames& names);

  // Begins now. `with_left`: where an earlier daemon has stopped reading.
  void begin(bool with_left);
  // What has changed since the last call.
  [[nodiscard]] NameChanges take();
  // The last name of each thread whose name has changed since then, all caches, and the control
  // groups that were made or removed since then.
  [[nodiscard]] std::vector<std::byte> last_since(uint64_t ns) const;

 private:
  NameFollower(RingReader ring, const Counters& counters, const KernelNames& names)
      : ring_(std::move(ring)), counters_(&counters), names_(&names) {}
  void begin_with_left();
  void earn(uint64_t elapsed_ns);
  bool pay(size_t bytes);

  RingReader ring_;
  const Counters* counters_;
  const KernelNames* names_;
  uint64_t taken_ns_ = 0;  // time of the last take()
  uint64_t dropped_ = 0;   // records that found no room in the ring until then
  uint64_t budget_ = kBytesPerSecond;
};

}  // namespace ktraced
