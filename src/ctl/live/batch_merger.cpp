// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/live/batch_merger.h"

namespace ktraced {

void BatchMerger::take(const PacketView& packet, std::shared_ptr<const void> owner) {
  if (packet.is_metadata()) {
    packet.for_each_record([this](RecordView record) { on_name_(record); });
    if (on_batch_) on_batch_();
    whole_until_ = packet.header().timestamp_end;
    merger_.release(whole_until_, sink_);
  } else {
    merger_.push(packet, std::move(owner));
    if (merger_.pending_bytes() > kMaxPendingBytes) merger_.release_all(sink_);
  }
}

}  // namespace ktraced
