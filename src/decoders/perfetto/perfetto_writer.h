// SPDX-License-Identifier: BSD-2-Clause
// Writes traces in the format of Perfetto's trace processor.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/intervals/call_tracker.h"
#include "analysis/reports/kmem_call.h"
#include "decoders/perfetto/perfetto_arguments.h"
#include "decoders/perfetto/perfetto_bundles.h"
#include "decoders/perfetto/perfetto_kernel_events.h"
#include "decoders/perfetto/perfetto_losses.h"
#include "decoders/perfetto/perfetto_memory.h"
#include "decoders/perfetto/perfetto_names.h"
#include "decoders/perfetto/perfetto_packets.h"
#include "decoders/perfetto/perfetto_stacks.h"
#include "decoders/perfetto/perfetto_states.h"
#include "decoders/perfetto/perfetto_syscalls.h"
#include "decoders/symbols/frame_names.h"
#include "trace/directory/manifest.h"

namespace ktraced {

// A source of events. What it refers to must outlive the writer.
struct PerfettoSource {
  DecoderSources sources;
  const Manifest& manifest;
  uint64_t begin_ns = 0;  // no record is older or newer
  uint64_t end_ns = 0;
  std::vector<uint64_t> changes;  // times of config changes and pauses; ns
};

// Takes the events of several traces in time order, as one history. docs/perfetto.md describes how
// events are converted. Memory: names of threads, running calls, held allocations, and the output
// until it is taken.
class PerfettoWriter : public MergeSink {
 public:
  // `sources` is sorted by begin time; the index is RecordOrigin::source. `stacks`: of all of them,
  // whose frames `files` names. Both must outlive the writer.
  PerfettoWriter(const std::vector<PerfettoSource>& sources, const TraceStacks& stacks,
                 FrameNames& files);

  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  // Skips an event that was not selected. It still shows that the CPU is recording.
  void skip(const RecordOrigin& from, RecordView record);
  // Call after the last event.
  void finish();

  // How the callstacks so far end.
  [[nodiscard]] const StackEnds& stack_ends() const { return stacks_.ends(); }
  // The output so far; the caller takes and clears it.
  [[nodiscard]] std::string& out() { return packets_.out(); }

 private:
  // How an event is converted.
  struct Plan {
    bool is_call = false;                       // sys_enter, sys_exit or sys_completed
    bool is_sample = false;                     // cpu_sample
    std::optional<Field> mode;                  // of a sample
    uint64_t title = 0, category = 0;           // interned
    std::optional<PerfettoKernelEvent> kernel;  // written as this message
    bool is_instant = false;                    // shown on the track of its thread
    bool ends_calls = false;                    // the calls of a thread end or get another id
    std::optional<Field> prev, next;            // threads of sched_switch
    std::optional<Field> woken;                 // that of sched_waking and sched_wakeup_new
    // No sched_waking makes a new thread runnable, so one is written beside sched_wakeup_new.
    std::optional<PerfettoKernelEvent> waking;
    std::vector<Field> tasks;  // threads whose names are written
  };
  struct Source {
    Source(PerfettoWriter& writer, const PerfettoSource& of);

    PerfettoSource trace;
    EventTable<Plan> plans;
    PerfettoArguments arguments;
    KmemReader kmem;
    bool begun = false;
    size_t changes_seen = 0;
  };

  Plan plan_of(const Event& event);
  void begin(Source& source, uint64_t ts);
  void begin_trace();
  void note_changes(Source& source, uint64_t ts);
  void add_clocks(const PerfettoSource& trace);
  void add_gaps(const Source& source);
  void add_stats(int32_t phase);
  void see(uint32_t cpu, uint64_t ts);
  // What of it is missing on the CPU from `ts` on.
  struct Missing {
    bool calls, memory, switches;
  };
  void lose(const Source& source, uint32_t cpu, uint64_t ts, const Missing& missing);
  void follow_states(const Plan& plan, const NameTable& names, uint32_t cpu, RecordView record);
  void write(Source& source, const Plan& plan, const RecordOrigin& from, RecordView record);

  void mark_stack(const Source& source, const RecordOrigin& from, RecordView record,
                  uint64_t callstack);
  std::string_view symbol_at(uint64_t address);

  PerfettoPackets packets_;
  PerfettoBundles bundles_{packets_};
  PerfettoNames names_{packets_, bundles_};
  PerfettoLosses losses_{packets_};
  PerfettoMemory memory_{packets_};
  PerfettoStates states_{bundles_};
  CallTracker calls_;
  PerfettoStacks stacks_;
  PerfettoSyscalls syscalls_{calls_, packets_, names_, stacks_};
  std::vector<std::unique_ptr<Source>> sources_;
  std::map<uint32_t, uint64_t> records_;  // of each CPU
  std::set<uint32_t> losing_memory_;      // CPUs that are losing allocations or frees
  bool any_begun_ = false;
  uint64_t covered_until_ns_ = 0;  // by the traces so far
  uint64_t last_ns_ = 0;
};

}  // namespace ktraced
