// SPDX-License-Identifier: BSD-2-Clause
#include "perfetto/read.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include "perfetto.pb.h"

namespace ktraced::test {
namespace {

using namespace perfetto_read;

std::string hex(uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

class Reader {
 public:
  ReadTrace read(const std::string& bytes) {
    Trace trace;
    if (!trace.ParseFromString(bytes)) fault("not a trace");
    bool first = true;
    for (const TracePacket& packet : trace.packet()) {
      check(packet, first);
      first = false;
      take(packet);
    }
    std::ranges::stable_sort(marks_, {}, [](const auto& mark) { return mark.first; });
    for (const auto& [ts, event] : marks_) mark(ts, event);
    for (const auto& [track, open] : open_)
      if (!open.empty()) fault("a slice on " + track_name(track) + " has no end");
    std::ranges::stable_sort(out_.slices, {}, &ReadMark::begin);
    return std::move(out_);
  }

 private:
  using Names = std::map<uint64_t, std::string>;

  void fault(std::string what) { out_.faults.push_back(std::move(what)); }

  void check(const TracePacket& packet, bool first) {
    if (!packet.unknown_fields().empty()) fault("unknown fields in a packet");
    if (packet.trusted_packet_sequence_id() == 0) fault("a packet without sequence");
    if (((packet.sequence_flags() & 1) != 0) != first) fault("state cleared at the wrong place");
  }

  void take(const TracePacket& packet) {
    const InternedData& interned = packet.interned_data();
    intern(interned.event_categories(), categories_);
    intern(interned.event_names(), names_);
    intern(interned.debug_annotation_names(), arguments_);
    intern(interned.function_names(), functions_);
    intern(interned.mapping_paths(), paths_);
    intern(interned.source_paths(), sources_);
    for (const auto& build_id : interned.build_ids()) build_ids_[build_id.iid()] = build_id.id();
    for (const auto& mapping : interned.mappings()) mappings_[mapping.iid()] = mapping;
    for (const auto& frame : interned.frames()) frames_[frame.iid()] = frame;
    for (const auto& stack : interned.callstacks()) callstacks_[stack.iid()] = stack;
    if (packet.has_perf_sample()) sample(packet.timestamp(), packet.perf_sample());
    if (packet.has_track_descriptor()) describe(packet.track_descriptor());
    if (packet.has_ftrace_events()) bundle(packet.ftrace_events());
    if (packet.has_process_tree()) people(packet.process_tree());
    if (packet.has_clock_snapshot()) clock(packet.clock_snapshot());
    if (packet.has_ftrace_stats()) stats(packet.ftrace_stats());
    if (packet.has_system_info()) out_.release = packet.system_info().utsname().release();
    if (packet.has_track_event()) {
      if (!tracks_.contains(packet.track_event().track_uuid())) fault("an event without track");
      marks_.emplace_back(packet.timestamp(), resolve(packet.track_event()));
    }
  }

  template <class Entries>
  void intern(const Entries& entries, Names& names) {
    for (const auto& entry : entries)
      if (!names.emplace(entry.iid(), entry.name()).second) fault("a name defined twice");
  }

  std::string stack_of(uint64_t iid) {
    const auto& ids = callstacks_[iid].frame_ids();
    if (ids.empty()) fault("a callstack without frames");
    std::string stack;
    for (const uint64_t id : ids) {
      const auto& frame = frames_[id];
      const auto& mapping = mappings_[frame.mapping_id()];
      const std::string function = resolve(functions_, frame.function_name_id());
      if (!frame.has_rel_pc()) fault("a frame without a place in its mapping");
      if (frame.rel_pc() != 0) out_.offsets[function] = frame.rel_pc();
      std::string path;
      for (const uint64_t part : mapping.path_string_ids()) path += "/" + resolve(paths_, part);
      if (mapping.has_build_id()) out_.build_ids[path] = resolve(build_ids_, mapping.build_id());
      if (frame.has_source_path_iid())
        static_cast<void>(resolve(sources_, frame.source_path_iid()));
      stack += (stack.empty() ? "" : "; ") + function + " (" + path + ")";
    }
    return stack;
  }

  void sample(uint64_t ts, const PerfSample& sample) {
    ReadSample read{.ts = ts,
                    .cpu = sample.cpu(),
                    .pid = sample.pid(),
                    .tid = sample.tid(),
                    .mode = sample.cpu_mode(),
                    .stack = {}};
    read.stack = stack_of(sample.callstack_iid());
    out_.samples.push_back(std::move(read));
  }

  void describe(const TrackDescriptor& track) {
    if (track.uuid() == 0 || !tracks_.emplace(track.uuid(), track).second)
      fault("a bad number of a track");
    if (track.parent_uuid() != 0 && !tracks_.contains(track.parent_uuid()))
      fault("a track without parent");
  }

  std::string track_name(uint64_t uuid) const {
    const TrackDescriptor& track = tracks_.at(uuid);
    if (track.has_thread())
      return std::to_string(track.thread().pid()) + "/" + std::to_string(track.thread().tid());
    if (track.parent_uuid() == 0) return track.name();
    return track_name(track.parent_uuid()) + "/" + track.name();
  }

  void bundle(const FtraceBundle& bundle) {
    if (!bundle.has_cpu() || bundle.event().empty()) fault("a bad bundle");
    uint64_t last = 0;
    bool first = true;
    for (const FtraceEvent& event : bundle.event()) {
      if (event.timestamp() < last) fault("a bundle goes back in time");
      if (!event.has_pid() || event.event_case() == FtraceEvent::EVENT_NOT_SET)
        fault("a bad event in a bundle");
      last = event.timestamp();
      out_.events.push_back({.ts = event.timestamp(),
                             .cpu = bundle.cpu(),
                             .tid = event.pid(),
                             .name = name_of(event),
                             .args = members(event),
                             .flags = event.common_flags(),
                             .first_after_loss = first && bundle.lost_events()});
      first = false;
    }
  }

  static std::string name_of(const FtraceEvent& event) {
    const auto* field = FtraceEvent::descriptor()->FindFieldByNumber(event.event_case());
    return field == nullptr ? "" : std::string(field->name());
  }

  ReadArguments members(const FtraceEvent& event) {
    ReadArguments args;
    const auto* field = FtraceEvent::descriptor()->FindFieldByNumber(event.event_case());
    if (field == nullptr) return args;
    const auto& message = event.GetReflection()->GetMessage(event, field);
    const auto* type = message.GetDescriptor();
    const auto* values = message.GetReflection();
    if (!values->GetUnknownFields(message).empty()) fault("unknown members in an event");
    for (int i = 0; i < type->field_count(); ++i) {
      const auto* member = type->field(i);
      using Type = google::protobuf::FieldDescriptor;
      if (!values->HasField(message, member)) continue;
      std::string& text = args[std::string(member->name())];
      switch (member->cpp_type()) {
        case Type::CPPTYPE_STRING:
          text = values->GetString(message, member);
          break;
        case Type::CPPTYPE_INT32:
          text = std::to_string(values->GetInt32(message, member));
          break;
        case Type::CPPTYPE_INT64:
          text = std::to_string(values->GetInt64(message, member));
          break;
        case Type::CPPTYPE_UINT32:
          text = std::to_string(values->GetUInt32(message, member));
          break;
        default:
          text = std::to_string(values->GetUInt64(message, member));
      }
    }
    return args;
  }

  void people(const ProcessTree& tree) {
    for (const auto& process : tree.processes())
      if (process.cmdline_size() == 1) out_.processes[process.pid()] = process.cmdline(0);
    for (const auto& thread : tree.threads())
      out_.threads[thread.tid()] = {thread.name(), thread.tgid()};
  }

  void clock(const ClockSnapshot& snapshot) {
    if (snapshot.primary_trace_clock() != 6) fault("not CLOCK_BOOTTIME");
    std::map<uint32_t, uint64_t> clocks;
    for (const auto& clock : snapshot.clocks()) clocks[clock.clock_id()] = clock.timestamp();
    out_.clocks.emplace_back(clocks[6], clocks[1]);
  }

  void stats(const FtraceStats& stats) {
    auto& phase = stats.phase() == 1 ? out_.stats_begin : out_.stats_end;
    for (const auto& cpu : stats.cpu_stats())
      phase[cpu.cpu()] = {cpu.entries(), cpu.overrun(), cpu.dropped_events(), cpu.read_events()};
  }

  struct Resolved {
    TrackEvent::Type type;
    uint64_t track;
    ReadMark mark;
    int64_t value;
  };

  std::string resolve(const Names& names, uint64_t iid) {
    const auto found = names.find(iid);
    if (found != names.end()) return found->second;
    fault("a name that was not defined");
    return "";
  }

  Resolved resolve(const TrackEvent& event) {
    Resolved resolved{event.type(), event.track_uuid(), {}, event.counter_value()};
    if (event.has_name_iid()) resolved.mark.name = resolve(names_, event.name_iid());
    if (event.category_iids_size() != 0)
      resolved.mark.category = resolve(categories_, event.category_iids(0));
    if (event.has_callstack_iid()) resolved.mark.stack = stack_of(event.callstack_iid());
    for (const auto& argument : event.debug_annotations())
      resolved.mark.args[resolve(arguments_, argument.name_iid())] = text_of(argument);
    return resolved;
  }

  static std::string text_of(const DebugAnnotation& argument) {
    switch (argument.value_case()) {
      case DebugAnnotation::kBoolValue:
        return argument.bool_value() ? "true" : "false";
      case DebugAnnotation::kUintValue:
        return std::to_string(argument.uint_value());
      case DebugAnnotation::kIntValue:
        return std::to_string(argument.int_value());
      case DebugAnnotation::kPointerValue:
        return hex(argument.pointer_value());
      case DebugAnnotation::kStringValue:
        return argument.string_value();
      default:
        break;
    }
    std::string text;
    for (const auto& element : argument.array_values())
      text += (text.empty() ? "" : ",") + text_of(element);
    return text;
  }

  // In time order.
  void mark(uint64_t ts, const Resolved& event) {
    const bool is_counter = tracks_.at(event.track).has_counter();
    if (is_counter != (event.type == TrackEvent::TYPE_COUNTER)) fault("not for this track");
    auto& open = open_[event.track];
    ReadMark mark = event.mark;
    mark.begin = ts;
    mark.track = track_name(event.track);
    mark.depth = open.size();
    switch (event.type) {
      case TrackEvent::TYPE_SLICE_BEGIN:
        return open.push_back(std::move(mark));
      case TrackEvent::TYPE_SLICE_END:
        if (open.empty()) return fault("an end without a beginning on " + mark.track);
        mark = std::move(open.back());
        open.pop_back();
        mark.end = ts;
        mark.args.insert(event.mark.args.begin(), event.mark.args.end());
        return out_.slices.push_back(std::move(mark));
      case TrackEvent::TYPE_INSTANT:
        return out_.instants.push_back(std::move(mark));
      case TrackEvent::TYPE_COUNTER:
        return out_.counters[mark.track].emplace_back(ts, event.value), void();
      default:
        fault("an event of no type");
    }
  }

  ReadTrace out_;
  Names categories_, names_, arguments_, functions_, paths_, sources_, build_ids_;
  std::map<uint64_t, InternedData::Mapping> mappings_;
  std::map<uint64_t, InternedData::Frame> frames_;
  std::map<uint64_t, InternedData::Callstack> callstacks_;
  std::map<uint64_t, TrackDescriptor> tracks_;
  std::vector<std::pair<uint64_t, Resolved>> marks_;
  std::map<uint64_t, std::vector<ReadMark>> open_;
};

}  // namespace

std::map<std::string, uint64_t> ReadTrace::counts() const {
  std::map<std::string, uint64_t> counts;
  for (const ReadEvent& event : events) ++counts[event.name];
  const std::map<std::string, uint64_t> kernel_events = counts;  // some are instants too
  for (const ReadMark& slice : slices) {
    if (slice.category != "syscalls") continue;
    ++counts["sys_enter"];
    if (slice.args.contains("ret")) ++counts["sys_exit"];
  }
  for (const ReadMark& instant : instants) {
    if (instant.category == "missing" || kernel_events.contains(instant.name)) continue;
    ++counts[instant.category == "syscalls" ? "sys_exit" : instant.name];
  }
  return counts;
}

std::vector<ReadMark> ReadTrace::slices_on(std::string_view track) const {
  std::vector<ReadMark> found;
  std::ranges::copy_if(slices, std::back_inserter(found),
                       [&](const ReadMark& mark) { return mark.track == track; });
  return found;
}

std::vector<ReadMark> ReadTrace::instants_named(std::string_view name) const {
  std::vector<ReadMark> found;
  std::ranges::copy_if(instants, std::back_inserter(found),
                       [&](const ReadMark& mark) { return mark.name == name; });
  return found;
}

ReadTrace read_perfetto(const std::string& bytes) { return Reader().read(bytes); }

ReadTrace read_perfetto_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return read_perfetto(std::string(std::istreambuf_iterator<char>(in), {}));
}

}  // namespace ktraced::test
