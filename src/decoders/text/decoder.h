// SPDX-License-Identifier: BSD-2-Clause
// Converts records to text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "decoders/text/text_buffer.h"
#include "schema/schema.h"
#include "trace/merge/merge.h"
#include "trace/metadata/kernel_text.h"
#include "trace/metadata/name_table.h"

namespace ktraced {

class EventStacks;

// Resolves kernel addresses.
class SymbolResolver {
 public:
  virtual ~SymbolResolver() = default;
  // "kmalloc_trace+0x2a/0x90", or empty if unknown. Valid until the next call.
  virtual std::string_view resolve(uint64_t address) = 0;
};

// The data that a decoder uses in addition to the record. The referenced objects outlive the
// decoder; names may grow between records.
struct DecoderSources {
  const Schema& schema;
  const NameTable& names;
  SymbolResolver* symbols = nullptr;  // null: addresses stay numbers
  int64_t clock_offset_ns = 0;        // CLOCK_REALTIME minus CLOCK_BOOTTIME; 0: unknown
  EventStacks* stacks = nullptr;      // null: the frames of stacks are not shown
};

// Writes events and losses, one line each, in the given order. A format for certain events writes
// nothing for others.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // Writes the text before the first line.
  virtual void header(TextBuffer& /*out*/) {}
  // One event. The bytes of the record are untrusted: what does not match the schema is shown as
  // far as possible.
  virtual void event(uint32_t cpu, RecordView record, TextBuffer& out) = 0;
  virtual void loss(const LossItem& loss, TextBuffer& out) = 0;
};

}  // namespace ktraced
