// SPDX-License-Identifier: BSD-2-Clause
#include "ctl/live/session_counts.h"

#include <fmt/format.h>

#include "base/text/plain_text.h"
#include "decoders/text/decoder.h"
#include "trace/metadata/event_records.h"

namespace ktraced {

void SessionCounts::take(const PacketView& packet) {
  if (!packet.is_metadata()) return;
  packet.for_each_record([this](const RecordView& record) {
    learn_event(schema_, record);
    if (auto reason = end_reason_of(record)) end_reason_ = printable(*reason);
    lost_names_.add(record);
    const auto account = account_of(record);
    if (!account) return;
    if (account->event != 0) {
      events_[account->event] += account->hits;
      return;
    }
    total_ = account->hits;
    reset_ns_ = account->reset_ns;
  });
}

std::map<std::string, uint64_t> SessionCounts::counts(uint64_t HitAccount::* count) const {
  std::map<std::string, uint64_t> counts;
  for (const auto& [event, hits] : events_)
    if (hits.*count != 0) counts[event_name(schema_, event)] += hits.*count;
  return counts;
}

std::string counts_text(const SessionCounts& counts) {
  if (!counts.total()) return "";
  return fmt::format("{}{} filtered, {} missed",
                     counts.reset_ns() != 0 ? "; since the reset of the session: " : ", ",
                     counts.total()->filtered, counts.total()->missed);
}

}  // namespace ktraced
