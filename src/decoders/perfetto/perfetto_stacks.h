// SPDX-License-Identifier: BSD-2-Clause
// Samples of CPUs with their callstacks in a Perfetto trace.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "analysis/stacks/cpu_samples.h"
#include "analysis/stacks/stack_names.h"
#include "decoders/perfetto/perfetto_packets.h"
#include "trace/metadata/name_table.h"

namespace ktraced {

// Writes each function, file and callstack once. Memory: those, and what StackNames keeps.
class PerfettoStacks {
 public:
  // `table` must outlive this.
  PerfettoStacks(PerfettoPackets& packets, const StackTable& table, FrameNamer namer)
      : packets_(packets), names_(table, std::move(namer)) {}

  void add_sample(uint32_t cpu, RecordView record, CpuMode mode, const NameTable& tasks);

 private:
  // `functions`: the innermost first, at least one.
  uint64_t callstack(const std::vector<uint32_t>& functions);
  void describe(uint32_t function, protozero::pbf_writer& data);
  uint64_t mapping(const std::string& module, protozero::pbf_writer& data);

  PerfettoPackets& packets_;
  StackNames names_;
  std::unordered_set<uint32_t> described_;                // functions
  std::map<std::string, uint64_t> mappings_;              // interned, by module
  std::map<std::vector<uint32_t>, uint64_t> callstacks_;  // interned, by their functions
};

}  // namespace ktraced
