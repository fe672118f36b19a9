// SPDX-License-Identifier: BSD-2-Clause
// Events per CPU, in the format of Perfetto's ftrace data source.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "decoders/perfetto/perfetto_packets.h"
#include "schema/names.h"
#include "trace/packet/packet.h"

namespace ktraced {

// Collects events in bundles of one CPU each. Memory: one bundle per CPU.
class PerfettoBundles {
 public:
  explicit PerfettoBundles(PerfettoPackets& packets) : packets_(packets) {}

  // `fill` gets the protozero::pbf_writer of the event, to write its one message.
  template <class Fill>
  void add(uint32_t cpu, RecordView record, Fill&& fill) {
    add(cpu, record.ts(), record.tid(), [&](protozero::pbf_writer& event) {
      // A viewer shows whether an interrupt woke a thread.
      if (const uint8_t flags = context_flags(record.context()); flags != 0)
        event.add_uint32(perfetto::ftrace::kFlags, flags);
      fill(event);
    });
  }
  // Adds an event at `ts` in thread `tid`; `fill` gets the protozero::pbf_writer of the event, to
  // write its one message.
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
  // Adds an event that may be older than the last one of its CPU, in a bundle of its own, because
  // time does not go back in a bundle.
  template <class Fill>
  void add_late(uint32_t cpu, uint64_t ts, uint32_t tid, Fill&& fill) {
    Bundle& bundle = bundles_[cpu];
    flush(cpu, bundle);
    const bool after_loss = std::exchange(bundle.after_loss, false);
    add(cpu, ts, tid, std::forward<Fill>(fill));
    flush(cpu, bundle);
    bundle.after_loss = after_loss;
  }
  // Marks the next event of this CPU: events before it are missing.
  void lose(uint32_t cpu);
  // Writes the collected events.
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
