// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/perfetto/perfetto_stacks.h"

#include <charconv>
#include <ranges>
#include <string_view>
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

// Bytes of a number in hexadecimal, which may end early.
std::string bytes_of(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    uint8_t byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

}  // namespace

void PerfettoStacks::add_sample(uint32_t cpu, RecordView record, CpuMode mode,
                                const NameTable& tasks) {
  const Actor actor = actor_of(record, tasks);
  std::vector<Frame> frames;
  if (mode != CpuMode::idle) frames = frames_of(place_of(actor, record.stacks()), record.ts());
  if (const char* text = mode_text(mode); text != nullptr)
    frames.insert(frames.begin(), frame_of(text));
  // The engine does not accept a callstack without frames.
  if (frames.empty()) frames.push_back(frame_of("[no stack]"));
  const uint64_t stack = callstack(frames);
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

uint64_t PerfettoStacks::callstack_of(RecordView record, const NameTable& tasks) {
  if (!record.has_stacks()) return 0;
  const auto frames = frames_of(place_of(actor_of(record, tasks), record.stacks()), record.ts());
  return frames.empty() ? 0 : callstack(frames);
}

std::vector<PerfettoStacks::Frame> PerfettoStacks::frames_of(const StackPlace& at, uint64_t ts) {
  ends_.add(at, ts, 1, names_);
  std::vector<Frame> frames;
  for (const StackNames::Frame& frame : names_.frames(at, ts))
    frames.emplace_back(frame.text,
                        frame.code.kind == FrameCode::Kind::file ? frame.code.byte() : 0);
  return frames;
}

PerfettoStacks::Frame PerfettoStacks::frame_of(const char* text) {
  return {names_.number_of({.function = text, .module = {}, .is_named = false}), 0};
}

uint64_t PerfettoStacks::callstack(const std::vector<Frame>& frames) {
  if (const auto known = callstacks_.find(frames); known != callstacks_.end()) return known->second;
  const uint64_t iid = callstacks_.size() + 1;
  callstacks_.emplace(frames, iid);
  packets_.add_interned([&](pbf_writer& data) {
    std::vector<uint64_t> ids;
    for (const Frame& frame : frames) ids.push_back(describe(frame, data));
    pbf_writer stack(data, pb::interned::kCallstacks);
    stack.add_uint64(pb::interned::kIid, iid);
    for (const uint64_t id : ids | std::views::reverse)
      stack.add_uint64(pb::callstack::kFrames, id);
  });
  return iid;
}

uint64_t PerfettoStacks::describe(const Frame& frame, pbf_writer& data) {
  const auto [known, is_new] = frames_.try_emplace(frame, frames_.size() + 1);
  if (!is_new) return known->second;
  const FrameText& text = names_.text(frame.first);
  const uint64_t module = mapping(text, data);
  const uint64_t name = string(pb::interned::kFunctionNames, printable(text.function), data);
  const uint64_t source =
      text.source.empty() ? 0 : string(pb::interned::kSourcePaths, printable(text.source), data);
  pbf_writer entry(data, pb::interned::kFrames);
  entry.add_uint64(pb::interned::kIid, known->second);
  entry.add_uint64(pb::frame::kFunctionName, name);
  entry.add_uint64(pb::frame::kMapping, module);
  entry.add_uint64(pb::frame::kRelPc, frame.second);
  if (source != 0) entry.add_uint64(pb::frame::kSourcePath, source);
  if (text.line != 0) entry.add_uint32(pb::frame::kLine, text.line);
  return known->second;
}

// The engine puts a slash before a path.
uint64_t PerfettoStacks::mapping(const FrameText& text, pbf_writer& data) {
  const auto [known, is_new] =
      mappings_.try_emplace({text.module, text.file}, mappings_.size() + 1);
  if (!is_new) return known->second;
  std::string path = text.file != nullptr ? text.file->path : text.module;
  path = path.empty() ? "[unknown]" : printable(path);
  if (path.starts_with('/')) path.erase(0, 1);
  const uint64_t name = string(pb::interned::kMappingPaths, path, data);
  const uint64_t build_id =
      text.file == nullptr || text.file->build_id.empty()
          ? 0
          : string(pb::interned::kBuildIds, bytes_of(text.file->build_id), data);
  pbf_writer entry(data, pb::interned::kMappings);
  entry.add_uint64(pb::interned::kIid, known->second);
  if (build_id != 0) entry.add_uint64(pb::mapping::kBuildId, build_id);
  entry.add_uint64(pb::mapping::kPath, name);
  return known->second;
}

uint64_t PerfettoStacks::string(protozero::pbf_tag_type kind, const std::string& text,
                                pbf_writer& data) {
  const auto [known, is_new] = strings_.try_emplace({kind, text}, strings_.size() + 1);
  if (!is_new) return known->second;
  pbf_writer entry(data, kind);
  entry.add_uint64(pb::interned::kIid, known->second);
  entry.add_string(pb::interned::kName, text);
  return known->second;
}

}  // namespace ktraced
