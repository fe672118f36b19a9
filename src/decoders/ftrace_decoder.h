// SPDX-License-Identifier: BSD-2-Clause
// Events as the kernel's own tracer prints them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "decoders/decoder.h"
#include "decoders/event_table.h"
#include "decoders/ftrace_formats.h"
#include "decoders/gfp_text.h"
#include "decoders/print_format.h"
#include "decoders/probe_text.h"

namespace ktraced {

// Text as in /sys/kernel/tracing/trace, which other tools can read. The column of
// interrupt flags, which records do not hold, is dots. Pointers are shown as they
// are, where the kernel would scramble them.
class FtraceDecoder : public Decoder {
 public:
  explicit FtraceDecoder(const DecoderSources& sources);
  void header(TextBuffer& out) override;
  void event(uint32_t cpu, RecordView record, TextBuffer& out) override;
  void loss(const LossItem& loss, TextBuffer& out) override;

 private:
  struct EventPlan {
    std::string head;  // ": kmalloc: "
    std::vector<FormatStep> steps;
    std::optional<ProbeText> probe;    // of the event of a kernel probe
    std::optional<PrintFormat> print;  // of a dynamic event, if it was understood
    std::vector<Field> located;
  };
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
