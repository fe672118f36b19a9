// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/printing/event_printer.h"

namespace ktraced {

bool EventPrinter::has_ended(uint64_t ts) {
  if (!first_ts_) first_ts_ = ts;
  if (limits_.ns && ts > *first_ts_ && ts - *first_ts_ > *limits_.ns) full_ = true;
  return full_;
}

void EventPrinter::on_record(const RecordOrigin& from, RecordView record) {
  const Source& source = sources_[from.source];
  if (has_ended(record.ts()) || !source.selection.wants(from.cpu, record, source.names)) return;
  const size_t before = out_.size();
  source.decoder.event(from.cpu, record, out_);
  if (out_.size() == before) return;  // this format does not show the event
  ++totals_.shown;
  if (limits_.events && totals_.shown >= *limits_.events) full_ = true;
}

void EventPrinter::on_loss(const LossItem& loss) {
  const Source& source = sources_[loss.source];
  if (has_ended(loss.ts) || !source.selection.wants_loss(loss.cpu, loss.event_id)) return;
  const size_t before = out_.size();
  source.decoder.loss(loss, out_);
  if (out_.size() != before) totals_.lost += loss.count;
}

}  // namespace ktraced
