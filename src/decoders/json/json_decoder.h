// SPDX-License-Identifier: BSD-2-Clause
// Prints events as JSON, one object per line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/coverage/event_table.h"
#include "decoders/ftrace/probe_text.h"
#include "decoders/text/decoder.h"
#include "decoders/text/field_text.h"
#include "schema/annotations.h"

namespace ktraced {

// {"ts":…,"cpu":…,"pid":…,"tid":…,"comm":"…","event":"…","args":{…}}, losses as
// {"ts":…,"cpu":…,"lost":…,"event":"…"}; docs/output.md describes the members. Driven by the
// schema: there is no code for particular events.
class JsonDecoder : public Decoder {
 public:
  explicit JsonDecoder(const DecoderSources& sources);
  void event(uint32_t cpu, RecordView record, TextBuffer& out) override;
  void loss(const LossItem& loss, TextBuffer& out) override;

 private:
  // A field, with everything that is the same in all records.
  struct FieldPlan {
    Field field;
    size_t number = 0;             // of the field in the event
    std::string key;               // `,"prev_pid":`
    std::string annotation;        // `,"prev_comm":`
    std::string cut;               // `,"filename_cut":true`, for truncated values
    ExitAnnotations exit;          // `,"exit_status":` …
    std::optional<Field> context;  // for a syscall_nr its syscall_abi, for a sig_code its signo
  };
  struct EventPlan {
    std::string head;  // `,"event":"kmalloc","args":{`
    std::vector<FieldPlan> fields;
    std::optional<FailedFields> failed;  // of the event of a kernel probe
  };
  static EventPlan plan_of(const Event& event);
  static FieldPlan plan_of(const Event& event, const Field& field);

  void append_task(uint32_t cpu, RecordView record, TextBuffer& out) const;
  void append_stacks(RecordView record, TextBuffer& out) const;
  void append_field(const FieldPlan& plan, uint32_t cpu, RecordView record, TextBuffer& out);
  void append_list_or_text(const FieldPlan& plan, RecordView record, TextBuffer& out) const;
  void append_scalar(const FieldPlan& plan, uint64_t value, TextBuffer& out) const;
  void append_annotation(const FieldPlan& plan, uint64_t value, uint32_t cpu, RecordView record,
                         TextBuffer& out);

  DecoderSources sources_;
  EventTable<EventPlan> plans_;
  FieldText texts_;
};

}  // namespace ktraced
