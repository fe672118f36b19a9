// SPDX-License-Identifier: BSD-2-Clause
// Prints a string argument of a system call.
#pragma once

#include <optional>

#include "decoders/text/text_buffer.h"
#include "schema/schema.h"
#include "trace/packet/packet.h"

namespace ktraced {

// "string openat 1 \"/etc/hostname\"": the call, the number of the argument, and its text, followed
// by ... if it is cut. What could not be read is shown as "unreadable at 0x…", and what was read
// when the call returned ends with "(at return)".
class StringText {
 public:
  // Nothing if the event is not about a string argument.
  static std::optional<StringText> of(const Event& event);
  // `names`: the call by name.
  void append(RecordView record, bool names, TextBuffer& out) const;

 private:
  Field nr_, arg_, text_;
  std::optional<Field> abi_, pointer_, cut_, unreadable_;
  bool at_return_ = false;
};

}  // namespace ktraced
