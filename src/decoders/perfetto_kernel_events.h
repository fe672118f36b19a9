// SPDX-License-Identifier: BSD-2-Clause
// The events that Perfetto has messages of its own for.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "decoders/decoder.h"
#include "decoders/perfetto_bundles.h"
#include "schema/schema.h"

namespace ktraced {

// One such event, ready to be written.
class PerfettoKernelEvent {
 public:
  // Nothing if Perfetto does not know the event.
  static std::optional<PerfettoKernelEvent> of(const Event& event);

  void write(const NameTable& names, uint32_t cpu, RecordView record,
             PerfettoBundles& bundles) const;

 private:
  struct Member {
    protozero::pbf_tag_type number;
    Field field;
    bool comm;  // the name of the thread that the field says
  };
  static void add(const Member& member, const NameTable& names, uint32_t cpu, RecordView record,
                  protozero::pbf_writer& message);

  protozero::pbf_tag_type number_ = 0;
  uint32_t size_ = 0;  // of a whole record, in bytes
  std::vector<Member> members_;
};

}  // namespace ktraced
