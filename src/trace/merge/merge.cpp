// SPDX-License-Identifier: BSD-2-Clause
#include "trace/merge/merge.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ktraced {

namespace {

record header_at(std::span<const std::byte> records) {
  record header;
  std::memcpy(&header, records.data(), sizeof(header));
  return header;
}

}  // namespace

// Compares for a heap, whose front is the greatest.
bool Merger::later(const Run& a, const Run& b) {
  return std::tie(a.ts, a.from.cpu, a.order) > std::tie(b.ts, b.from.cpu, b.order);
}

void Merger::push(const PacketView& packet, std::shared_ptr<const void> owner, uint32_t source) {
  const PacketHeader& header = packet.header();
  size_t losses = header.lost_count * sizeof(Lost);
  Run run{.ts = header.timestamp_begin,
          .order = pushed_++,
          .from = {.source = source, .cpu = header.cpu_id},
          .losses_left = header.lost_count,
          .losses = packet.bytes().subspan(sizeof(PacketHeader), losses),
          .records = packet.bytes().subspan(sizeof(PacketHeader) + losses),
          .bytes = packet.bytes().size(),
          .owner = std::move(owner)};
  if (!run.records.empty()) run.ts = header_at(run.records).ts;

  auto [end, is_first] = end_of_cpu_.try_emplace(key(source, header.cpu_id), header.timestamp_end);
  if (!is_first) {
    // Losses never come after the next record, whatever the packets claim.
    uint64_t loss_ts = std::max(end->second, released_until_);
    if (run.losses_left != 0) run.ts = run.records.empty() ? loss_ts : std::min(loss_ts, run.ts);
    end->second = std::max(end->second, header.timestamp_end);
  }
  if (run.losses_left == 0 && run.records.empty()) return;
  pending_bytes_ += run.bytes;
  runs_.push_back(std::move(run));
  std::ranges::push_heap(runs_, later);
}

bool Merger::drain(Run& run, uint64_t until, MergeSink& sink) {
  while (run.losses_left != 0) {
    if (run.ts > until) return true;
    Lost lost;
    std::memcpy(&lost, run.losses.data() + run.losses.size() - run.losses_left * sizeof(Lost),
                sizeof(lost));
    --run.losses_left;
    sink.on_loss({run.ts, run.from.cpu, lost.event_id, lost.count, run.from.source});
  }
  while (!run.records.empty()) {
    RecordView next(run.records.data());
    run.ts = next.ts();
    if (run.ts > until) return true;
    run.records = run.records.subspan(next.bytes().size());
    if (is_stack_record(next.id()))
      sink.on_stack(run.from, next);
    else
      sink.on_record(run.from, next);
  }
  return false;
}

// Works on the earliest run as long as it stays the earliest, so a merge costs
// one heap operation for each change of run, not for each record.
void Merger::release(uint64_t until, MergeSink& sink) {
  if (until != UINT64_MAX) released_until_ = std::max(released_until_, until);
  while (!runs_.empty() && runs_.front().ts <= until) {
    std::ranges::pop_heap(runs_, later);
    Run& run = runs_.back();
    uint64_t limit = until;
    if (runs_.size() > 1) {
      const Run& next = runs_.front();
      // At equal times the order of CPUs decides, which only the heap knows.
      if (next.ts <= until) limit = next.ts > run.ts ? next.ts - 1 : run.ts;
    }
    if (drain(run, limit, sink)) {
      std::ranges::push_heap(runs_, later);
    } else {
      pending_bytes_ -= run.bytes;
      runs_.pop_back();
    }
  }
}

}  // namespace ktraced
