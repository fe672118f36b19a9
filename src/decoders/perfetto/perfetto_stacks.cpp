// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/perfetto/perfetto_stacks.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "analysis/coverage/actor.h"
#include "decoders/text/safe_text.h"

namespace ktraced {

using protozero::pbf_writer;
namespace pb = perfetto;

namespace {

// A guest may be in its kernel or not: samples do not say that.
int32_t cpu_mode(CpuMode mode) {
  switch (mode) {
    case CpuMode::user:
      return pb::perf_sample::kUser;
    case CpuMode::kernel:
    case CpuMode::kernel_thread:
    case CpuMode::idle:
      return pb::perf_sample::kKernel;
    case CpuMode::guest:
    case CpuMode::unknown:
      break;
  }
  return pb::perf_sample::kUnknown;
}

// What is shown instead of frames, or inside the innermost one; null: nothing.
const char* mode_text(CpuMode mode) {
  if (mode == CpuMode::idle) return "[idle]";
  return mode == CpuMode::guest ? "[guest]" : nullptr;
}

void add_string(pbf_writer& data, protozero::pbf_tag_type kind, uint64_t iid,
                const std::string& text) {
  pbf_writer entry(data, kind);
  entry.add_uint64(pb::interned::kIid, iid);
  entry.add_string(pb::interned::kName, text);
}

}  // namespace

void PerfettoStacks::add_sample(uint32_t cpu, RecordView record, CpuMode mode,
                                const NameTable& tasks) {
  const Actor actor = actor_of(record, tasks);
  std::vector<uint32_t> functions =
      mode == CpuMode::idle ? std::vector<uint32_t>()
                            : names_.texts_of(place_of(actor, record.stacks()), record.ts());
  if (const char* text = mode_text(mode); text != nullptr)
    functions.insert(functions.begin(), names_.number_of({.function = text, .module = {}}));
  // The engine does not accept a callstack without frames.
  if (functions.empty())
    functions.push_back(names_.number_of({.function = "[no stack]", .module = {}}));
  const uint64_t stack = callstack(functions);
  packets_.add(record.ts(), [&](pbf_writer& packet) {
    pbf_writer sample(packet, pb::packet::kPerfSample);
    sample.add_uint32(pb::perf_sample::kCpu, cpu);
    // Each thread has a process there: a thread whose process is not known is one.
    sample.add_uint32(pb::perf_sample::kPid, actor.id);
    sample.add_uint32(pb::perf_sample::kTid, record.tid());
    sample.add_uint64(pb::perf_sample::kCallstack, stack);
    sample.add_enum(pb::perf_sample::kCpuMode, cpu_mode(mode));
  });
}

uint64_t PerfettoStacks::callstack(const std::vector<uint32_t>& functions) {
  if (const auto known = callstacks_.find(functions); known != callstacks_.end())
    return known->second;
  const uint64_t iid = callstacks_.size() + 1;
  callstacks_.emplace(functions, iid);
  packets_.add_interned([&](pbf_writer& data) {
    for (const uint32_t function : functions) describe(function, data);
    pbf_writer stack(data, pb::interned::kCallstacks);
    stack.add_uint64(pb::interned::kIid, iid);
    for (const uint32_t function : functions | std::views::reverse)
      stack.add_uint64(pb::callstack::kFrames, function + uint64_t{1});
  });
  return iid;
}

// A function, its frame and its name have one number.
void PerfettoStacks::describe(uint32_t function, pbf_writer& data) {
  if (!described_.insert(function).second) return;
  const FrameText& text = names_.text(function);
  const uint64_t iid = function + uint64_t{1};
  const uint64_t module = mapping(text.module, data);
  add_string(data, pb::interned::kFunctionNames, iid, printable(text.function));
  pbf_writer frame(data, pb::interned::kFrames);
  frame.add_uint64(pb::interned::kIid, iid);
  frame.add_uint64(pb::frame::kFunctionName, iid);
  frame.add_uint64(pb::frame::kMapping, module);
}

// The engine puts a slash before a path.
uint64_t PerfettoStacks::mapping(const std::string& module, pbf_writer& data) {
  const auto [known, is_new] = mappings_.try_emplace(module, mappings_.size() + 1);
  if (!is_new) return known->second;
  const std::string path = module.empty() ? "[unknown]" : printable(module);
  add_string(data, pb::interned::kMappingPaths, known->second,
             path.starts_with('/') ? path.substr(1) : path);
  pbf_writer entry(data, pb::interned::kMappings);
  entry.add_uint64(pb::interned::kIid, known->second);
  entry.add_uint64(pb::mapping::kPath, known->second);
  return known->second;
}

}  // namespace ktraced
