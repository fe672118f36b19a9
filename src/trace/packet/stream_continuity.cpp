// SPDX-License-Identifier: BSD-2-Clause
#include "trace/packet/stream_continuity.h"

#include <fmt/format.h>

#include <utility>

namespace ktraced {

void StreamContinuity::take(const PacketView& packet) {
  const PacketHeader& header = packet.header();
  uint64_t lost = 0;
  for (const Lost& entry : packet.lost()) lost += entry.count;
  const Position now{.sequence = header.packet_seq_num, .discarded = header.events_discarded};
  auto [known, is_first] = positions_.try_emplace(header.cpu_id, now);
  if (is_first) return;
  const Position before = std::exchange(known->second, now);
  const bool skipped = now.sequence != before.sequence + 1 && lost == 0;
  const bool unreported = now.discarded - before.discarded != lost;
  if (skipped || unreported) ++gaps_[header.cpu_id];
}

std::vector<std::string> StreamContinuity::gaps() const {
  std::vector<std::string> sentences;
  sentences.reserve(gaps_.size());
  for (const auto& [cpu, count] : gaps_)
    sentences.push_back(fmt::format("CPU {}: {} unreported gaps in the stream", cpu, count));
  return sentences;
}

}  // namespace ktraced
