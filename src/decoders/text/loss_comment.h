// SPDX-License-Identifier: BSD-2-Clause
// Losses in text formats that have no line for them.
#pragma once

#include "decoders/text/decoder.h"
#include "decoders/text/safe_text.h"

namespace ktraced {

// "# lost 123 kmalloc on CPU 2": a comment, which readers of these formats skip.
inline void append_loss_comment(const LossItem& loss, const Schema& schema, TextBuffer& out) {
  out.append("# lost ");
  out.append_decimal(loss.count);
  out.append(' ');
  append_printable(event_name(schema, loss.event_id), out);
  out.append(" on CPU ");
  out.append_decimal(loss.cpu);
  out.append('\n');
}

}  // namespace ktraced
