// SPDX-License-Identifier: BSD-2-Clause
// Callstacks of samples and events in a Perfetto trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/stacks/cpu_samples.h"
#include "analysis/stacks/stack_names.h"
#include "decoders/perfetto/perfetto_packets.h"
#include "trace/metadata/name_table.h"

namespace ktraced {

// Writes each frame, function, file and callstack once. Memory: those, and what StackNames keeps.
class PerfettoStacks {
 public:
  // `stacks` must outlive this.
  PerfettoStacks(PerfettoPackets& packets, const TraceStacks& stacks, FrameNamer namer)
      : packets_(packets), names_(stacks, std::move(namer)) {}

  void add_sample(uint32_t cpu, RecordView record, CpuMode mode, const NameTable& tasks);
  // The interned callstack of the stacks of an event, 0 if it has none.
  uint64_t callstack_of(RecordView record, const NameTable& tasks);
  // How the stacks of these samples and events end.
  [[nodiscard]] const StackEnds& ends() const { return ends_; }

 private:
  // A function, and where its code is, relative to the beginning of its file; 0 of others.
  using Frame = std::pair<uint32_t, uint64_t>;

  // Also counts them in ends().
  [[nodiscard]] std::vector<Frame> frames_of(const StackPlace& at, uint64_t ts);
  Frame frame_of(const char* text);
  // `frames`: the innermost first, at least one.
  uint64_t callstack(const std::vector<Frame>& frames);
  uint64_t describe(const Frame& frame, protozero::pbf_writer& data);
  uint64_t mapping(const FrameText& text, protozero::pbf_writer& data);
  uint64_t string(protozero::pbf_tag_type kind, const std::string& text,
                  protozero::pbf_writer& data);

  PerfettoPackets& packets_;
  StackNames names_;
  StackEnds ends_;
  // Interned numbers, of texts by kind.
  std::map<std::pair<protozero::pbf_tag_type, std::string>, uint64_t> strings_;
  std::map<std::pair<std::string, const MappedFile*>, uint64_t> mappings_;  // by module and file
  std::map<Frame, uint64_t> frames_;
  std::map<std::vector<Frame>, uint64_t> callstacks_;
};

}  // namespace ktraced
