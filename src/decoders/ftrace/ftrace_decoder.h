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
#include "decoders/text/gfp_text.h"

namespace ktraced {

// Text as in /sys/kernel/tracing/trace, readable by other tools. The column of interrupt flags,
// which records do not contain, has dots. Pointers are printed unchanged; the kernel would hash
// them.
class FtraceDecoder : public Decoder {
 public:
  explicit FtraceDecoder(const DecoderSources& sources);
  void header(TextBuffer& out) override;
  void event(uint32_t cpu, RecordView record, TextBuffer& out) override;
  void loss(const LossItem& loss, TextBuffer& out) override;
  // Only the text after the event's name, without a line end.
  void message(uint32_t cpu, RecordView record, TextBuffer& out);

 private:
  struct EventPlan {
    std::string head;  // ": kmalloc: "
    std::vector<FormatStep> steps;
    std::optional<ProbeText> probe;    // of the event of a kernel probe
    std::optional<PrintFormat> print;  // of a dynamic event, if it could be parsed
    std::vector<Field> located;
  };
  void append_message(const EventPlan& plan, uint32_t cpu, RecordView record, TextBuffer& out);
  void append_prefix(uint32_t cpu, RecordView record, TextBuffer& out) const;
  void append_print(const EventPlan& plan, RecordView record, TextBuffer& out) const;
  void append_step(const FormatStep& step, uint32_t cpu, RecordView record, TextBuffer& out);
  void append_integer(const FormatStep& step, uint64_t value, uint32_t cpu, RecordView record,
                      TextBuffer& out);
  void append_by_meaning(const Field& field, uint64_t value, TextBuffer& out);
  void append_comm(uint32_t tid, uint64_t ts, uint32_t cpu, TextBuffer& out) const;
  void append_symbol(uint64_t address, TextBuffer& out) const;

  DecoderSources sources_;
  EventTable<EventPlan> plans_;
  GfpText gfp_;
  uint64_t gfp_account_ = 0;  // bit of __GFP_ACCOUNT, 0: unknown
};

}  // namespace ktraced
