// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/stream/crash_losses.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/files/partial_directory.h"
#include "trace/directory/trace_reader.h"

namespace ktraced {
namespace {

// Opens a trace, finished or not: it may have got its final name just before the daemon was killed.
Result<TraceReader> open_trace(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return TraceReader::open(path);
  return TraceReader::open(PartialDirectory::partial_of(path), true);
}

void subtract(const PacketView& packet, std::vector<uint64_t>& counts) {
  auto take_off = [&](uint32_t event, uint64_t count) {
    if (event < counts.size()) counts[event] -= count;
  };
  for (const Lost& lost : packet.lost()) take_off(lost.event_id, lost.count);
  packet.for_each_record([&](const RecordView& record) { take_off(record.id(), 1); });
}

}  // namespace

std::optional<LostByCpu> crash_losses(StreamAccount::Unwritten unwritten) {
  if (!unwritten.trace.empty()) {
    auto trace = open_trace(unwritten.trace);
    if (!trace) return std::nullopt;
    for (PacketFile& file : trace->open_files()) {
      if (file.cpu() >= unwritten.counts.size()) return std::nullopt;
      for (auto packet = file.next(); packet && *packet; packet = file.next())
        subtract((*packet)->view, unwritten.counts[file.cpu()]);
    }
  }
  LostByCpu lost;
  for (uint32_t cpu = 0; cpu < unwritten.counts.size(); ++cpu)
    for (uint32_t event = 0; event < unwritten.counts[cpu].size(); ++event) {
      const uint64_t count = unwritten.counts[cpu][event];
      if (static_cast<int64_t>(count) < 0) return std::nullopt;
      if (count != 0) lost[cpu].push_back({.count = count, .event_id = event, .reserved = 0});
    }
  return lost;
}

}  // namespace ktraced
