// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/text/event_stacks.h"

#include "analysis/coverage/actor.h"
#include "decoders/text/safe_text.h"

namespace ktraced {
namespace {

// What is known of the code of a process.
void append_code(const FrameCode& code, const FrameText& text, TextBuffer& out) {
  const auto member = [&out](std::string_view key, std::string_view value) {
    if (value.empty()) return;
    out.append(key);
    append_json_string(value, out);
  };
  if (text.file != nullptr) {
    member(",\"file\":", text.file->path);
    out.append(",\"offset\":\"0x");
    out.append_hex(code.at);
    out.append('"');
    member(",\"build_id\":", text.file->build_id);
  }
  member(",\"source\":", text.source);
  if (text.line != 0) {
    out.append(",\"line\":");
    out.append_decimal(uint64_t{text.line});
  }
  if (text.inlined) out.append(",\"inlined\":true");
}

}  // namespace

StackPlace EventStacks::place_in(RecordView record, const NameTable& tasks) {
  const StackPlace at = place_of(actor_of(record, tasks), record.stacks());
  ends_.add(at, record.ts(), 1, names_);
  return at;
}

void EventStacks::append_lines(RecordView record, const NameTable& tasks, TextBuffer& out) {
  if (!record.has_stacks()) return;
  const StackPlace at = place_in(record, tasks);
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
    append_printable(label_of(text), out);
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
  const StackPlace at = place_in(record, tasks);
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
    append_code(frames[i].code, text, out);
    out.append('}');
  }
  out.append(']');
}

}  // namespace ktraced
