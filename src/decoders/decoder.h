// SPDX-License-Identifier: BSD-2-Clause
// What turns records into text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "decoders/text_buffer.h"
#include "schema/schema.h"
#include "trace/kernel_text.h"
#include "trace/merge.h"
#include "trace/name_table.h"

namespace ktraced {

// Answers what lies at a kernel address.
class SymbolResolver {
 public:
  virtual ~SymbolResolver() = default;
  // "kmalloc_trace+0x2a/0x90", or empty if nothing is known. Valid until the next call.
  virtual std::string_view resolve(uint64_t address) = 0;
};

// All a decoder knows beside the record itself. The referenced objects live
// longer than the decoder; names may grow between records.
struct DecoderSources {
  const Schema& schema;
  const NameTable& names;
  SymbolResolver* symbols = nullptr;  // null: addresses stay numbers
};

// Writes events and losses, one line each, in the order it is given them. A form that is not for
// all events writes nothing for the others.
class Decoder {
 public:
  virtual ~Decoder() = default;
  // What stands before the first line.
  virtual void header(TextBuffer& /*out*/) {}
  // One event. Any bytes may stand in the record: what does not fit the schema
  // is shown as far as it goes.
  virtual void event(uint32_t cpu, RecordView record, TextBuffer& out) = 0;
  virtual void loss(const LossItem& loss, TextBuffer& out) = 0;
  // A live stream's backlog, of records older than `until_ns`, begins or ends here.
  enum class Backlog { begins, ends };
  virtual void backlog(Backlog mark, uint64_t until_ns, TextBuffer& out);
};

// Name of an event, "event_77" if the schema does not have it.
[[nodiscard]] std::string event_name(const Schema& schema, uint32_t id);

}  // namespace ktraced
