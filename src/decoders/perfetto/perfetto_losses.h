// SPDX-License-Identifier: BSD-2-Clause
// Where events are missing in a Perfetto trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "decoders/perfetto/perfetto_packets.h"
#include "trace/merge/merge.h"

namespace ktraced {

// Draws for each CPU the intervals with lost events, what was lost, and the running total.
class PerfettoLosses {
 public:
  explicit PerfettoLosses(PerfettoPackets& packets) : packets_(packets) {}

  // Events named `event` are missing from then on, until see() is called for the CPU.
  void lose(const LossItem& loss, std::string_view event);
  // Notes an event of this CPU, which ends its losses.
  void see(uint32_t cpu, uint64_t ts) {
    if (open_ != 0) end_loss(cpu, ts);
  }
  // The trace has no data of this CPU for that time.
  void leave_out(uint32_t cpu, uint64_t from, uint64_t to, std::string_view why);
  // Call after the last event. Losses that have not ended last until `end_ns`.
  void finish(uint64_t end_ns);

  // Lost events of the CPU so far.
  [[nodiscard]] uint64_t lost(uint32_t cpu) const;

 private:
  struct Cpu {
    uint64_t track = 0;
    uint64_t counter = 0;
    uint64_t lost = 0;
    bool open = false;  // a loss that has not ended
  };
  Cpu& cpu_of(uint32_t cpu);
  void end_loss(uint32_t cpu, uint64_t ts);

  PerfettoPackets& packets_;
  uint64_t root_ = 0;  // the parent of the CPUs' tracks
  std::map<uint32_t, Cpu> cpus_;
  size_t open_ = 0;  // losses that have not ended
};

}  // namespace ktraced
