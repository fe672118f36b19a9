// SPDX-License-Identifier: BSD-2-Clause
// What reports are made from.
#pragma once

#include "decoders/trace_scope.h"
#include "schema/schema.h"
#include "trace/merge.h"
#include "trace/name_table.h"

namespace ktraced {

// Takes the events of one or several traces, or of a stream, in time order. A loss with count 0
// says that something may be missing there.
class Analysis : public MergeSink {
 public:
  // Where events come from: the first one added is RecordOrigin::source 0, and so on. Both must
  // live until the last event; they may grow between events.
  virtual void add_source(const Schema& schema, const NameTable& names) = 0;
  // What is traced from `ts` on: said before the first event, and again when it has changed.
  // Nothing can be measured across a change.
  virtual void on_scope(uint64_t /*ts*/, const TraceScope& /*scope*/) {}
};

}  // namespace ktraced
