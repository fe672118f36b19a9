// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/text/event_stacks.h"

#include "analysis/coverage/actor.h"
#include "decoders/text/safe_text.h"

namespace ktraced {

void EventStacks::append_lines(RecordView record, const NameTable& tasks, TextBuffer& out) {
  if (!record.has_stacks()) return;
  const StackPlace at = place_of(actor_of(record, tasks), record.stacks());
  append_lines("<stack trace>\n", names_.kernel_frames(at, record.ts()), out);
  append_lines("<user stack trace>\n", names_.user_frames(at, record.ts()), out);
}

void EventStacks::append_lines(std::string_view heading,
                               const std::vector<StackNames::Frame>& frames, TextBuffer& out) {
  if (frames.empty()) return;
  out.append(heading);
  for (const StackNames::Frame& frame : frames) {
    const FrameText& text = names_.text(frame.text);
    out.append("=> ");
    append_printable(text.function, out);
    if (!text.module.empty()) {
      out.append(" [");
      append_printable(text.module, out);
      out.append(']');
    }
    if (!text.function.starts_with('[')) {
      out.append(" (");
      out.append_hex(frame.address);
      out.append(')');
    }
    out.append('\n');
  }
}

void EventStacks::append_members(RecordView record, const NameTable& tasks, TextBuffer& out) {
  if (!record.has_stacks()) return;
  const StackPlace at = place_of(actor_of(record, tasks), record.stacks());
  append_member(",\"kernel_frames\":[", names_.kernel_frames(at, record.ts()), out);
  append_member(",\"user_frames\":[", names_.user_frames(at, record.ts()), out);
}

void EventStacks::append_member(std::string_view key, const std::vector<StackNames::Frame>& frames,
                                TextBuffer& out) {
  if (frames.empty()) return;
  out.append(key);
  for (size_t i = 0; i < frames.size(); ++i) {
    const FrameText& text = names_.text(frames[i].text);
    out.append(i == 0 ? "{" : ",{");
    if (frames[i].address != 0) {
      out.append("\"address\":\"0x");
      out.append_hex(frames[i].address);
      out.append("\",");
    }
    out.append("\"function\":");
    append_json_string(text.function, out);
    if (!text.module.empty()) {
      out.append(",\"module\":");
      append_json_string(text.module, out);
    }
    out.append('}');
  }
  out.append(']');
}

}  // namespace ktraced
