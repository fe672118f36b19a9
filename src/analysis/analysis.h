// SPDX-License-Identifier: BSD-2-Clause
// The interface of the analyses behind reports.
#pragma once

#include "analysis/coverage/trace_config.h"
#include "schema/schema.h"
#include "trace/merge/merge.h"
#include "trace/metadata/name_table.h"

namespace ktraced {

// Takes the events of one or several traces, or of a stream, in time order. A loss with count 0
// means that events may be missing there.
class Analysis : public MergeSink {
 public:
  // Adds a source of events: the first one added is RecordOrigin::source 0, and so on. Both
  // arguments must exist until the last event; they may grow between events.
  virtual void add_source(const Schema& schema, const NameTable& names) = 0;
  // Sets the trace config from `ts` on. Called before the first event and after each config change.
  // Intervals that contain a change cannot be measured.
  virtual void on_config_change(uint64_t /*ts*/, const TraceConfig& /*config*/) {}
};

}  // namespace ktraced
