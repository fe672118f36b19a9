// SPDX-License-Identifier: BSD-2-Clause
// Traces as Perfetto's trace processor reads them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "decoders/event_fields.h"
#include "decoders/kmem_call.h"
#include "decoders/perfetto_arguments.h"
#include "decoders/perfetto_bundles.h"
#include "decoders/perfetto_kernel_events.h"
#include "decoders/perfetto_losses.h"
#include "decoders/perfetto_memory.h"
#include "decoders/perfetto_names.h"
#include "decoders/perfetto_packets.h"
#include "decoders/perfetto_syscalls.h"
#include "trace/manifest.h"

namespace ktraced {

// A trace that events come from. What it refers to lives longer than the writer.
struct PerfettoSource {
  DecoderSources sources;
  const Manifest& manifest;
  uint64_t begin_ns = 0;  // no record is older, or younger
  uint64_t end_ns = 0;
  std::vector<uint64_t> changes;  // when other events or tasks were chosen, or it was paused; ns
};

// Takes the events of several traces in time order, as one history. docs/perfetto.md says what
// becomes of which. Memory: what threads are called, what they do and hold at the time, and the
// output until it is taken.
class PerfettoWriter : public MergeSink {
 public:
  // By the time they begin; the index is RecordOrigin::source.
  explicit PerfettoWriter(const std::vector<PerfettoSource>& sources);

  void on_record(const RecordOrigin& from, RecordView record) override;
  void on_loss(const LossItem& loss) override;
  // An event that is not to be written: the CPU goes on.
  void skip(const RecordOrigin& from, RecordView record);
  // No more events come.
  void finish();

  // Written so far; take it and clear it.
  [[nodiscard]] std::string& out() { return packets_.out(); }

 private:
  // What becomes of an event.
  struct Plan {
    enum class Kind : uint8_t { enter, exit, other } kind = Kind::other;
    uint64_t title = 0, category = 0;           // interned
    std::optional<PerfettoKernelEvent> kernel;  // written so
    bool is_instant = false;                    // shown on the track of its thread
    bool ends_thread = false;
    std::vector<Field> tasks;         // whose names are to be told
    std::optional<Field> old_thread;  // of an exec: the thread that takes the number of another
    SyscallFields call;
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
  void add_gaps(const PerfettoSource& trace);
  void add_stats(int32_t phase);
  void see(uint32_t cpu, uint64_t ts);
  void lose(uint32_t cpu, uint64_t ts, bool calls, bool memory);
  void write(Source& source, const Plan& plan, const RecordOrigin& from, RecordView record);
  void end_calls(const Plan& plan, RecordView record);

  PerfettoPackets packets_;
  PerfettoBundles bundles_{packets_};
  PerfettoNames names_{packets_, bundles_};
  PerfettoLosses losses_{packets_};
  PerfettoMemory memory_{packets_};
  PerfettoSyscalls syscalls_{packets_};
  std::vector<std::unique_ptr<Source>> sources_;
  std::map<uint32_t, uint64_t> records_;  // of each CPU
  std::set<uint32_t> losing_memory_;      // CPUs whose losses of allocations and frees are not over
  bool any_begun_ = false;
  uint64_t covered_until_ns_ = 0;  // by the traces that have begun
  uint64_t last_ns_ = 0;
};

}  // namespace ktraced
