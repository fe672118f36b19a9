// SPDX-License-Identifier: BSD-2-Clause
// The events with their own messages in Perfetto.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "decoders/perfetto/perfetto_bundles.h"
#include "decoders/text/decoder.h"
#include "schema/schema.h"

namespace ktraced {

// Writes an event as its own message in Perfetto.
class PerfettoKernelEvent {
 public:
  // Nothing if the schema names no message of Perfetto for the event.
  static std::optional<PerfettoKernelEvent> of(const Event& event);
  // A writer of the event as another message, which has the same members.
  [[nodiscard]] PerfettoKernelEvent as(protozero::pbf_tag_type number) const;

  void write(const NameTable& names, uint32_t cpu, RecordView record,
             PerfettoBundles& bundles) const;

 private:
  struct Member {
    protozero::pbf_tag_type number;
    Field field;
    bool comm;  // the name of the thread in the field
  };
  static void add(const Member& member, const NameTable& names, uint32_t cpu, RecordView record,
                  protozero::pbf_writer& message);

  protozero::pbf_tag_type number_ = 0;
  uint32_t size_ = 0;  // of a complete record, in bytes
  std::vector<Member> members_;
};

}  // namespace ktraced
