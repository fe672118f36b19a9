// SPDX-License-Identifier: BSD-2-Clause
// Ends the states of threads where it is not known how they went on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "decoders/perfetto/perfetto_bundles.h"
#include "trace/metadata/name_table.h"

namespace ktraced {

// Perfetto draws a state from one switch or waking of a thread to its next one. Where switches are
// missing between the two, this writes switches that end the state: to the idle task, in a state
// that Perfetto does not know. Memory: an entry for each thread, at most kMaxThreads, and each
// loss.
class PerfettoStates {
 public:
  explicit PerfettoStates(PerfettoBundles& bundles) : bundles_(bundles) {}

  // Call these before the event is written.
  void on_switch(uint32_t cpu, uint32_t prev, uint32_t next, const NameTable& names);
  void on_waking(uint32_t tid, const NameTable& names);
  // Switches of the CPU are missing from `ts` on. Not earlier than the last event of the CPU.
  void lose(uint32_t cpu, uint64_t ts, const NameTable& names);
  // Switches of all CPUs are missing from `ts` on.
  void interrupt(uint64_t ts, const NameTable& names);
  void finish(const NameTable& names);

 private:
  static constexpr size_t kMaxThreads = size_t{1} << 20;
  // The number of losses when its state began.
  struct Thread {
    size_t losses = 0;
    bool runs = false;
  };
  struct Loss {
    uint64_t ts;
    uint32_t cpu;
  };

  void end_run(uint32_t cpu, uint64_t ts, const NameTable& names);
  void end_state(uint32_t tid, const Thread& thread, const NameTable& names);
  void change(uint32_t tid, bool runs, const NameTable& names);
  void write(const Loss& at, uint32_t prev, uint32_t next, const NameTable& names);

  PerfettoBundles& bundles_;
  std::map<uint32_t, uint32_t> running_;          // thread on each CPU; 0: idle, or unknown
  std::unordered_map<uint32_t, Thread> threads_;  // whose state is known, by id
  std::vector<Loss> losses_;                      // in order of time
};

}  // namespace ktraced
