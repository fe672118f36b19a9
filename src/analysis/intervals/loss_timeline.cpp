// SPDX-License-Identifier: BSD-2-Clause
#include "analysis/intervals/loss_timeline.h"

#include <fmt/format.h>

#include <algorithm>

namespace ktraced {

void LossTimeline::add_source(const Schema& schema, const NameTable&) {
  sources_.push_back(&schema);
}

void LossTimeline::on_record(const RecordOrigin& from, RecordView record) {
  if (ongoing_.empty()) return;
  const auto found = ongoing_.find(from.cpu);
  if (found == ongoing_.end()) return;
  end(from.cpu, found->second, record.ts());
  ongoing_.erase(found);
}

// A count of 0 means that a history begins here, not that events were lost.
void LossTimeline::on_loss(const LossItem& loss) {
  if (loss.count == 0) return;
  const Event* event = sources_[loss.source]->find(loss.event_id);
  OngoingLoss& ongoing =
      ongoing_.try_emplace(loss.cpu, OngoingLoss{.since = loss.ts, .counts = {}}).first->second;
  ongoing
      .counts[index_of(event != nullptr ? event->name : fmt::format("event {}", loss.event_id))] +=
      loss.count;
}

void LossTimeline::end(uint32_t cpu, const OngoingLoss& ongoing, uint64_t ts) {
  TimelineSlice slice{.begin_ns = ongoing.since, .end_ns = std::max(ongoing.since, ts), .count = 0};
  slice.busy_ns = slice.end_ns - slice.begin_ns;
  // For a loss, `what` is the event with the most losses, not the longest one.
  for (const auto& [event, count] : ongoing.counts) {
    slice.count += count;
    if (count <= slice.what_ns) continue;
    slice.what = event;
    slice.what_ns = count;
  }
  slices_.add(cpu, slice);
}

uint32_t LossTimeline::index_of(const std::string& event) {
  const auto index = static_cast<uint32_t>(std::ranges::find(events_, event) - events_.begin());
  if (index == events_.size()) events_.push_back(event);
  return index;
}

void LossTimeline::finish(uint64_t end_ns) {
  for (const auto& [cpu, ongoing] : ongoing_) end(cpu, ongoing, end_ns);
  ongoing_.clear();
}

}  // namespace ktraced
