// SPDX-License-Identifier: BSD-2-Clause
// The stacks of events, as they are shown with them.
#pragma once

#include <utility>

#include "analysis/stacks/stack_names.h"
#include "decoders/text/text_buffer.h"
#include "trace/metadata/name_table.h"
#include "trace/packet/packet.h"

namespace ktraced {

// Writes the frames of the stacks of single events.
class EventStacks {
 public:
  // `stacks` must outlive this.
  EventStacks(const TraceStacks& stacks, FrameNamer namer) : names_(stacks, std::move(namer)) {}

  // Lines as trace-cmd prints them: "=> schedule (ffffffff81a3c5d0)", below "<stack trace>" and, of
  // the process, "<user stack trace>". A frame without a name is "=> [0x7f0000001234]". With lines,
  // "=> main [nginx] at nginx.c:12 (401136)". Nothing for an event without stacks.
  void append_lines(RecordView record, const NameTable& tasks, TextBuffer& out);
  // Members of a JSON object, each with a comma before it: "kernel_frames" and "user_frames" with
  // {"address","function","module"} for each frame, and of a process "file", "offset" in it,
  // "build_id", "source", "line" and "inlined", as far as they are known. What says why a stack
  // ends has no address.
  void append_members(RecordView record, const NameTable& tasks, TextBuffer& out);
  // How the stacks that were written end.
  [[nodiscard]] const StackEnds& ends() const { return ends_; }

 private:
  void append_lines(std::string_view heading, const std::vector<StackNames::Frame>& frames,
                    TextBuffer& out);
  void append_member(std::string_view key, const std::vector<StackNames::Frame>& frames,
                     TextBuffer& out);

  // Those of an event, counted in ends().
  [[nodiscard]] StackPlace place_in(RecordView record, const NameTable& tasks);

  StackNames names_;
  StackEnds ends_;
};

}  // namespace ktraced
