// SPDX-License-Identifier: BSD-2-Clause
// Threads and processes in a Perfetto trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

#include "decoders/perfetto/perfetto_bundles.h"
#include "decoders/perfetto/perfetto_packets.h"
#include "trace/metadata/name_table.h"

namespace ktraced {

// Writes each thread when it is first seen, and again when its name changes. Memory: a few dozen
// bytes for each thread.
class PerfettoNames {
 public:
  PerfettoNames(PerfettoPackets& packets, PerfettoBundles& bundles)
      : packets_(packets), bundles_(bundles) {}

  // Thread `tid` is used by the next event of that CPU.
  void see(const NameTable& names, uint32_t tid, uint32_t cpu, uint64_t ts);
  // The track of a thread; for thread 0, the idle task, one for each CPU. Call see() first.
  uint64_t track(uint32_t tid, uint32_t cpu);

 private:
  struct Thread {
    TaskName name;  // as written; tgid 0: unknown
    uint64_t track = 0;
  };
  // `and_leader`: also its process. In a damaged trace the leader may itself belong to another
  // process.
  void see(const NameTable& names, uint32_t tid, uint32_t cpu, uint64_t ts, bool and_leader);
  void end(uint32_t tid, const TaskName& task, uint32_t cpu, uint64_t ts);
  void announce(uint32_t tid, const TaskName& task, uint64_t ts);

  PerfettoPackets& packets_;
  PerfettoBundles& bundles_;
  std::unordered_map<uint32_t, Thread> threads_;
  std::map<uint32_t, uint64_t> idle_tracks_;  // by CPU
};

}  // namespace ktraced
