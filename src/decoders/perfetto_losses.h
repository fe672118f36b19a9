// SPDX-License-Identifier: BSD-2-Clause
// Where events are missing in a Perfetto trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "decoders/perfetto_packets.h"
#include "trace/merge.h"

namespace ktraced {

// Draws for each CPU the times for which something is missing, what is missing, and how much so
// far.
class PerfettoLosses {
 public:
  explicit PerfettoLosses(PerfettoPackets& packets) : packets_(packets) {}

  // Events called `event` are missing, from then on until the CPU is seen again.
  void lose(const LossItem& loss, std::string_view event);
  // There is an event of this CPU.
  void see(uint32_t cpu, uint64_t ts) {
    if (open_ != 0) end_loss(cpu, ts);
  }
  // The trace has nothing of this CPU for that time.
  void leave_out(uint32_t cpu, uint64_t from, uint64_t to, std::string_view why);
  // No more events come; what is missing is missing until then.
  void finish(uint64_t end_ns);

  // Events lost on the CPU so far.
  [[nodiscard]] uint64_t lost(uint32_t cpu) const;

 private:
  struct Cpu {
    uint64_t track = 0;
    uint64_t counter = 0;
    uint64_t lost = 0;
    bool open = false;  // a loss that is not over
  };
  Cpu& cpu_of(uint32_t cpu);
  void end_loss(uint32_t cpu, uint64_t ts);

  PerfettoPackets& packets_;
  uint64_t root_ = 0;  // the track above those of the CPUs
  std::map<uint32_t, Cpu> cpus_;
  size_t open_ = 0;  // losses that are not over
};

}  // namespace ktraced
