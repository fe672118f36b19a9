// SPDX-License-Identifier: BSD-2-Clause
// Kernel memory as counters in a Perfetto trace.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/reports/kmem_call.h"
#include "decoders/perfetto/perfetto_packets.h"
#include "trace/metadata/name_table.h"

namespace ktraced {

// Counts the bytes that were allocated since the counters started and have not been freed: for each
// slab cache, for kmalloc, and for the page allocator. Each counter has one value per millisecond
// at most. Memory: at most kMaxHeld allocations; others are not counted.
class PerfettoMemory {
 public:
  static constexpr size_t kMaxHeld = 1'000'000;
  static constexpr uint64_t kIntervalNs = 1'000'000;

  explicit PerfettoMemory(PerfettoPackets& packets) : packets_(packets) {}

  void add(const KmemCall& call, const NameTable& names, uint64_t ts);
  // Frees may be missing: restarts the counters from 0.
  void restart(uint64_t ts);
  // Call after the last event.
  void finish();

 private:
  struct Counter {
    uint64_t track = 0;
    uint64_t bytes = 0;
    bool changed = false;
  };
  struct Held {
    uint32_t counter;
    bool is_slab;
    uint64_t bytes;
  };
  static constexpr uint32_t kSlab = 0;  // the sum of kmalloc and of all caches

  void write(uint64_t ts);  // writes the counters that have changed
  uint32_t counter_of(const KmemCall& call, const NameTable& names);
  uint32_t add_counter(std::string_view name);
  void change(const Held& held, bool added);
  void set(Counter& counter, uint64_t bytes);

  PerfettoPackets& packets_;
  uint64_t root_ = 0;
  std::vector<Counter> counters_;
  std::map<std::pair<KmemType, uint64_t>, uint32_t> index_;  // by type and cache
  std::unordered_map<uint64_t, Held> held_;                  // by address
  uint64_t written_ns_ = 0, last_ns_ = 0;
};

}  // namespace ktraced
