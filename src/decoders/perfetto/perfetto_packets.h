// SPDX-License-Identifier: BSD-2-Clause
// The packets of a Perfetto trace.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <string_view>

#include "decoders/perfetto/perfetto_fields.h"

namespace ktraced {

// Writes packets of one sequence. Names of events, categories and arguments are interned: written
// once and referred to by number.
class PerfettoPackets {
 public:
  // Adds a packet; `fill` gets the protozero::pbf_writer for its content.
  template <class Fill>
  void add(Fill&& fill) {
    packet_.clear();
    protozero::pbf_writer packet(packet_);
    fill(packet);
    end_packet(packet, packet_);
  }
  // Adds a packet with a time, in ns of CLOCK_BOOTTIME; `fill` gets the protozero::pbf_writer for
  // the rest of its content.
  template <class Fill>
  void add(uint64_t ts, Fill&& fill) {
    add([&](protozero::pbf_writer& packet) {
      packet.add_uint64(perfetto::packet::kTimestamp, ts);
      fill(packet);
    });
  }

  // A begin, end or instant on a track. Names and callstacks are interned numbers; 0: none. `fill`
  // gets the protozero::pbf_writer of the event, for its arguments.
  struct Mark {
    uint64_t ts = 0;
    uint64_t track = 0;
    uint64_t name = 0;
    uint64_t category = 0;
    uint64_t callstack = 0;
  };
  template <class Fill>
  void mark(perfetto::track_event::Type type, const Mark& mark, Fill&& fill) {
    add(mark.ts, [&](protozero::pbf_writer& packet) {
      protozero::pbf_writer event(packet, perfetto::packet::kTrackEvent);
      event.add_enum(perfetto::track_event::kType, type);
      event.add_uint64(perfetto::track_event::kTrack, mark.track);
      if (mark.category != 0) event.add_uint64(perfetto::track_event::kCategory, mark.category);
      if (mark.name != 0) event.add_uint64(perfetto::track_event::kNameIid, mark.name);
      if (mark.callstack != 0) event.add_uint64(perfetto::track_event::kCallstack, mark.callstack);
      fill(event);
    });
  }
  void mark(perfetto::track_event::Type type, const Mark& what) {
    mark(type, what, [](protozero::pbf_writer&) {});
  }
  void count(uint64_t ts, uint64_t track, int64_t value);

  // Describes a track and returns its number; `parent` 0: none.
  uint64_t add_track(std::string_view name, uint64_t parent = 0);
  uint64_t add_counter(std::string_view name, int32_t unit, uint64_t parent = 0);
  uint64_t add_thread_track(uint32_t pid, uint32_t tid);

  // Interned numbers of names.
  uint64_t event_name(std::string_view name) { return intern(Names::events, name); }
  uint64_t category(std::string_view name) { return intern(Names::categories, name); }
  uint64_t argument_name(std::string_view name) { return intern(Names::arguments, name); }

  // Adds interned data of other kinds, before the packet that is being filled; `fill` gets the
  // protozero::pbf_writer for it.
  template <class Fill>
  void add_interned(Fill&& fill) {
    std::string bytes;
    protozero::pbf_writer packet(bytes);
    {
      protozero::pbf_writer data(packet, perfetto::packet::kInternedData);
      fill(data);
    }
    end_packet(packet, bytes);
  }

  // Complete packets: the caller takes and clears them.
  [[nodiscard]] std::string& out() { return out_; }

 private:
  enum class Names : uint8_t { categories, events, arguments };

  // `bytes`: what `packet` writes to.
  void end_packet(protozero::pbf_writer& packet, const std::string& bytes);
  uint64_t intern(Names kind, std::string_view name);
  template <class Fill>
  uint64_t describe(std::string_view name, uint64_t parent, Fill&& fill);

  std::string out_;
  std::string packet_;
  std::array<std::map<std::string, uint64_t, std::less<>>, 3> names_;  // by Names
  uint64_t tracks_ = 0;
  bool first_ = true;
};

}  // namespace ktraced
