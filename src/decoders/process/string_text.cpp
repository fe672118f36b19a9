// SPDX-License-Identifier: BSD-2-Clause
#include "decoders/process/string_text.h"

#include "analysis/coverage/event_fields.h"
#include "decoders/text/safe_text.h"
#include "schema/names.h"

namespace ktraced {

std::optional<StringText> StringText::of(const Event& event) {
  if (event.name != "sys_enter_string" && event.name != "sys_exit_string") return std::nullopt;
  const auto nr = field_named(event, "nr"), arg = field_named(event, "arg"),
             text = field_named(event, "text");
  if (!nr || !arg || !text || text->meaning != Meaning::text) return std::nullopt;
  StringText made;
  made.nr_ = *nr;
  made.arg_ = *arg;
  made.text_ = *text;
  made.abi_ = field_named(event, "abi");
  made.pointer_ = field_named(event, "pointer");
  made.cut_ = field_named(event, "cut");
  made.unreadable_ = field_named(event, "unreadable");
  made.at_return_ = event.name == "sys_exit_string";
  return made;
}

void StringText::append(RecordView record, bool names, TextBuffer& out) const {
  const auto number = static_cast<int32_t>(value_or_zero(nr_, record));
  const auto abi = static_cast<uint32_t>(value_or_zero(abi_, record));
  const std::string_view name = names ? syscall_name(abi, number) : "";
  out.append("string ");
  if (name.empty())
    out.append_decimal(number);
  else
    out.append(name);
  out.append(' ');
  out.append_decimal(value_or_zero(arg_, record));
  if (value_or_zero(unreadable_, record) != 0) {
    out.append(" unreadable at 0x");
    out.append_hex(value_or_zero(pointer_, record));
  } else {
    out.append(" \"");
    append_printable(text_of(text_, record), out);
    out.append('"');
    if (value_or_zero(cut_, record) != 0) out.append("...");
  }
  if (at_return_) out.append(" (at return)");
}

}  // namespace ktraced
