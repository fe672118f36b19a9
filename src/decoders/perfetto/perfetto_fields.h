// SPDX-License-Identifier: BSD-2-Clause
// Field numbers of Perfetto's trace format, as far as used.
#pragma once

#include <protozero/types.hpp>

// Each namespace is a message of perfetto/trace/*.proto.
namespace ktraced::perfetto {

using protozero::pbf_tag_type;

namespace trace {
inline constexpr pbf_tag_type kPacket = 1;
}

namespace packet {
inline constexpr pbf_tag_type kFtraceEvents = 1, kProcessTree = 2, kClockSnapshot = 6,
                              kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11,
                              kInternedData = 12, kSequenceFlags = 13, kFtraceStats = 34,
                              kSystemInfo = 45, kTrackDescriptor = 60, kPerfSample = 66;
inline constexpr uint32_t kStateCleared = 1, kNeedsState = 2;  // sequence flags
}  // namespace packet

namespace clock_snapshot {
inline constexpr pbf_tag_type kClocks = 1, kPrimaryClock = 2;
inline constexpr pbf_tag_type kClockId = 1, kClockTimestamp = 2;  // of each clock
inline constexpr uint32_t kRealtime = 1, kBoottime = 6;           // clock ids
}  // namespace clock_snapshot

namespace system_info {
inline constexpr pbf_tag_type kUtsname = 1;
inline constexpr pbf_tag_type kSysname = 1, kRelease = 3, kMachine = 4;  // of the utsname
}  // namespace system_info

namespace process_tree {
inline constexpr pbf_tag_type kProcesses = 1, kThreads = 2;
inline constexpr pbf_tag_type kPid = 1, kCmdline = 3, kUid = 5;  // of each process
inline constexpr pbf_tag_type kTid = 1, kName = 2, kTgid = 3;    // of each thread
}  // namespace process_tree

namespace ftrace {
inline constexpr pbf_tag_type kCpu = 1, kEvent = 2, kLostEvents = 3;  // of a bundle
inline constexpr pbf_tag_type kTimestamp = 1, kPid = 2, kFlags = 5;   // of an event
}  // namespace ftrace

namespace sched_switch {
inline constexpr pbf_tag_type kEvent = 4;  // of an event
inline constexpr pbf_tag_type kPrevComm = 1, kPrevPid = 2, kPrevState = 4, kNextComm = 5,
                              kNextPid = 6;
}  // namespace sched_switch

namespace sched_waking {
inline constexpr pbf_tag_type kEvent = 20;  // of an event
}

namespace sched_wakeup_new {
inline constexpr pbf_tag_type kEvent = 114;  // of an event
}

namespace process_free {
inline constexpr pbf_tag_type kEvent = 240;  // of an event
inline constexpr pbf_tag_type kComm = 1, kPid = 2;
}  // namespace process_free

namespace ftrace_stats {
inline constexpr pbf_tag_type kPhase = 1, kCpuStats = 2;
inline constexpr pbf_tag_type kCpu = 1, kEntries = 2, kOverrun = 3, kDroppedEvents = 8,
                              kReadEvents = 9;  // of each CPU
inline constexpr int32_t kStart = 1, kEnd = 2;  // phases
}  // namespace ftrace_stats

namespace track_descriptor {
inline constexpr pbf_tag_type kUuid = 1, kName = 2, kThread = 4, kParent = 5, kCounter = 8;
inline constexpr pbf_tag_type kThreadPid = 1, kThreadTid = 2;  // of the thread
inline constexpr pbf_tag_type kUnit = 3;                       // of the counter
inline constexpr int32_t kCount = 2, kBytes = 3;               // units
}  // namespace track_descriptor

namespace track_event {
inline constexpr pbf_tag_type kCategory = 3, kAnnotation = 4, kType = 9, kNameIid = 10, kTrack = 11,
                              kCounterValue = 30, kCallstack = 56;
enum Type : int32_t { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };
}  // namespace track_event

namespace annotation {
inline constexpr pbf_tag_type kNameIid = 1, kBool = 2, kUint = 3, kInt = 4, kString = 6,
                              kPointer = 7, kArray = 12;
}

namespace interned {
inline constexpr pbf_tag_type kCategories = 1, kEventNames = 2, kAnnotationNames = 3,
                              kFunctionNames = 5, kFrames = 6, kCallstacks = 7, kBuildIds = 16,
                              kMappingPaths = 17, kSourcePaths = 18, kMappings = 19;
inline constexpr pbf_tag_type kIid = 1, kName = 2;  // of each entry
}  // namespace interned

namespace frame {
inline constexpr pbf_tag_type kFunctionName = 2, kMapping = 3, kRelPc = 4, kSourcePath = 5,
                              kLine = 6;
}

namespace callstack {
inline constexpr pbf_tag_type kFrames = 2;  // the outermost first
}

namespace mapping {
inline constexpr pbf_tag_type kBuildId = 2, kPath = 7;
}

namespace perf_sample {
inline constexpr pbf_tag_type kCpu = 1, kPid = 2, kTid = 3, kCallstack = 4, kCpuMode = 5;
inline constexpr int32_t kUnknown = 0, kKernel = 1, kUser = 2;  // modes
}  // namespace perf_sample

}  // namespace ktraced::perfetto
