// SPDX-License-Identifier: BSD-2-Clause
// The fields of events as arguments in a Perfetto trace.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "decoders/event_table.h"
#include "decoders/field_text.h"
#include "decoders/perfetto_packets.h"
#include "decoders/probe_text.h"

namespace ktraced {

// Writes the fields of the events of one trace, with the texts beside them that JSON has.
class PerfettoArguments {
 public:
  PerfettoArguments(const DecoderSources& sources, PerfettoPackets& packets);

  // As arguments of `event`, the protozero writer of a track event.
  void add(uint32_t cpu, RecordView record, protozero::pbf_writer& event);

 private:
  struct Argument {
    Field field;
    size_t number = 0;                          // of the field in the event
    uint64_t name = 0;                          // interned, as those that follow
    uint64_t sibling = 0;                       // of the text beside it
    uint64_t status = 0, signal = 0, core = 0;  // of what stands beside an exit code
    std::optional<Field> context;
  };
  struct Plan {
    std::vector<Argument> arguments;
    std::optional<FailedFields> failed;
  };
  Plan plan_of(const Event& event);
  void add_field(const Argument& argument, uint32_t cpu, RecordView record,
                 protozero::pbf_writer& event);
  void add_text(uint64_t name, std::string_view text, protozero::pbf_writer& event);
  void add_exit(const Argument& argument, int32_t exit_code, protozero::pbf_writer& event);
  void add_number(const Field& field, uint64_t value, protozero::pbf_writer& annotation);

  DecoderSources sources_;
  PerfettoPackets& packets_;
  FieldText texts_;
  EventTable<Plan> plans_;
  TextBuffer scratch_;
};

}  // namespace ktraced
