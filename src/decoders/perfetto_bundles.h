// SPDX-License-Identifier: BSD-2-Clause
// Events of each CPU as Perfetto's kernel tracer gives them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "decoders/perfetto_packets.h"
#include "trace/packet.h"

namespace ktraced {

// Collects events in bundles of one CPU each. Memory: one bundle for each CPU.
class PerfettoBundles {
 public:
  explicit PerfettoBundles(PerfettoPackets& packets) : packets_(packets) {}

  // `fill` is given the protozero::pbf_writer of the event, for the one message that says which it
  // is.
  template <class Fill>
  void add(uint32_t cpu, RecordView record, Fill&& fill) {
    add(cpu, record.ts(), record.tid(), std::forward<Fill>(fill));
  }
  // The same of what happened at that time in thread `tid`.
  template <class Fill>
  void add(uint32_t cpu, uint64_t ts, uint32_t tid, Fill&& fill) {
    Bundle& bundle = bundles_[cpu];
    {
      protozero::pbf_writer events(bundle.events);
      protozero::pbf_writer event(events, perfetto::ftrace::kEvent);
      event.add_uint64(perfetto::ftrace::kTimestamp, ts);
      event.add_uint32(perfetto::ftrace::kPid, tid);
      fill(event);
    }
    if (bundle.events.size() >= kLarge) flush(cpu, bundle);
  }
  // Events of this CPU are missing before the next one.
  void lose(uint32_t cpu);
  // Writes what has been collected.
  void flush();

 private:
  static constexpr size_t kLarge = 64U << 10;

  struct Bundle {
    std::string events;
    bool after_loss = false;
  };
  void flush(uint32_t cpu, Bundle& bundle);

  PerfettoPackets& packets_;
  std::map<uint32_t, Bundle> bundles_;  // by CPU
  std::string message_;
};

}  // namespace ktraced
