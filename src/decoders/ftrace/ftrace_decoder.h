// SPDX-License-Identifier: BSD-2-Clause
// Prints events in the format of the kernel's own tracer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/coverage/event_table.h"
#include "decoders/ftrace/ftrace_formats.h"
#include "decoders/ftrace/probe_text.h"
#include "decoders/printfmt/print_format.h"
#include "decoders/text/decoder.h"
#include "decoders/text/event_time.h"
#include "decoders/text/field_text.h"
#include "decoders/text/gfp_text.h"

namespace ktraced {

// Text as in /sys/kernel/tracing/trace, readable by other tools. The column of interrupt flags,
// which records do not contain, has dots. Pointers are printed unchanged; the kernel would hash
// them.
class FtraceDecoder : public Decoder {
 public:
  // `names`: system calls, signals, errors and flags by name. The kernel prints their numbers.
  explicit FtraceDecoder(const DecoderSources& sources, bool names = false,
                         EventTime time = EventTime());
  void header(TextBuffer& out) override;
  void event(uint32_t cpu, RecordView record, TextBuffer& out) override;
  void loss(const LossItem& loss, TextBuffer& out) override;
  // Only the text after the event's name, without a line end.
  void message(uint32_t cpu, RecordView record, TextBuffer& out);

 private:
  struct EventPlan {
    std::string head;  // ": kmalloc: "
    std::vector<FormatStep> steps;
    std::vector<std::optional<Field>> contexts;  // context_of() each step's field
    std::optional<ProbeText> probe;              // of the event of a kernel probe
    std::optional<PrintFormat> print;            // of a dynamic event, if it could be parsed
    std::vector<Field> located;
  };
  static EventPlan plan_of(const Event& event);
  void append_message(const EventPlan& plan, uint32_t cpu, RecordView record, TextBuffer& out);
  void append_prefix(uint32_t cpu, RecordView record, TextBuffer& out);
  // The name of a value; false if it has none.
  bool append_name(const FormatStep& step, const std::optional<Field>& context, uint32_t cpu,
                   RecordView record, TextBuffer& out);
  // The name of a value that the kernel prints as a number; empty: none.
  std::string_view name_of(const Field& field, const std::optional<Field>& context, uint64_t value,
                           uint32_t cpu, RecordView record);
  void append_print(const EventPlan& plan, uint32_t cpu, RecordView record, TextBuffer& out);
  void append_step(const FormatStep& step, uint32_t cpu, RecordView record, TextBuffer& out);
  void append_integer(const FormatStep& step, uint64_t value, uint32_t cpu, RecordView record,
                      TextBuffer& out);
  void append_by_meaning(const Field& field, uint64_t value, TextBuffer& out);
  void append_comm(uint32_t tid, uint64_t ts, uint32_t cpu, TextBuffer& out) const;
  void append_symbol(uint64_t address, TextBuffer& out) const;

  DecoderSources sources_;
  EventTable<EventPlan> plans_;
  bool names_;
  EventTime time_;
  FieldText texts_;
  GfpText gfp_;
  uint64_t gfp_account_ = 0;  // bit of __GFP_ACCOUNT, 0: unknown
};

}  // namespace ktraced
