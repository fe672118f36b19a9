// SPDX-License-Identifier: BSD-2-Clause
// Writes the fields of events as arguments in a Perfetto trace.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/coverage/event_table.h"
#include "decoders/ftrace/probe_text.h"
#include "decoders/perfetto/perfetto_packets.h"
#include "decoders/text/field_text.h"

namespace ktraced {

// Writes the fields of the events of one trace, with the same annotations as in JSON.
class PerfettoArguments {
 public:
  PerfettoArguments(const DecoderSources& sources, PerfettoPackets& packets);

  // Adds arguments to `event`, the protozero writer of a track event.
  void add(uint32_t cpu, RecordView record, protozero::pbf_writer& event);

 private:
  struct Argument {
    Field field;
    size_t number = 0;                          // of the field, in the event
    uint64_t name = 0;                          // interned, like the members below
    uint64_t annotation = 0;                    // of the annotation
    uint64_t status = 0, signal = 0, core = 0;  // of an exit code's annotations
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
  uint64_t context_ = 0;  // the interned name of the argument; 0: not used yet
  TextBuffer scratch_;
};

}  // namespace ktraced
