// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/perfetto/perfetto_packets.h"

namespace ktraced {

using protozero::pbf_writer;
namespace pb = perfetto;

namespace {

constexpr uint32_t kSequence = 1;  // any number but 0

}  // namespace

void PerfettoPackets::end_packet(pbf_writer& packet, const std::string& bytes) {
  packet.add_uint32(pb::packet::kSequenceId, kSequence);
  packet.add_uint32(pb::packet::kSequenceFlags,
                    first_ ? pb::packet::kStateCleared : pb::packet::kNeedsState);
  first_ = false;
  pbf_writer(out_).add_message(pb::trace::kPacket, bytes);
}

void PerfettoPackets::count(uint64_t ts, uint64_t track, int64_t value) {
  mark(pb::track_event::kCounter, {.ts = ts, .track = track},
       [&](pbf_writer& event) { event.add_int64(pb::track_event::kCounterValue, value); });
}

template <class Fill>
uint64_t PerfettoPackets::describe(std::string_view name, uint64_t parent, Fill&& fill) {
  const uint64_t uuid = ++tracks_;
  add([&](pbf_writer& packet) {
    pbf_writer track(packet, pb::packet::kTrackDescriptor);
    track.add_uint64(pb::track_descriptor::kUuid, uuid);
    if (parent != 0) track.add_uint64(pb::track_descriptor::kParent, parent);
    if (!name.empty()) track.add_string(pb::track_descriptor::kName, name.data(), name.size());
    fill(track);
  });
  return uuid;
}

uint64_t PerfettoPackets::add_track(std::string_view name, uint64_t parent) {
  return describe(name, parent, [](pbf_writer&) {});
}

uint64_t PerfettoPackets::add_counter(std::string_view name, int32_t unit, uint64_t parent) {
  return describe(name, parent, [&](pbf_writer& track) {
    pbf_writer(track, pb::track_descriptor::kCounter).add_enum(pb::track_descriptor::kUnit, unit);
  });
}

uint64_t PerfettoPackets::add_thread_track(uint32_t pid, uint32_t tid) {
  return describe("", 0, [&](pbf_writer& track) {
    pbf_writer thread(track, pb::track_descriptor::kThread);
    thread.add_uint32(pb::track_descriptor::kThreadPid, pid);
    thread.add_uint32(pb::track_descriptor::kThreadTid, tid);
  });
}

// Written as a separate packet, before the one that is being filled.
uint64_t PerfettoPackets::intern(Names kind, std::string_view name) {
  auto& names = names_[static_cast<size_t>(kind)];
  if (const auto found = names.find(name); found != names.end()) return found->second;
  const uint64_t iid = names.size() + 1;
  names.emplace(name, iid);
  add_interned([&](pbf_writer& data) {
    pbf_writer entry(data, pb::interned::kCategories + static_cast<uint32_t>(kind));
    entry.add_uint64(pb::interned::kIid, iid);
    entry.add_string(pb::interned::kName, name.data(), name.size());
  });
  return iid;
}

}  // namespace ktraced
