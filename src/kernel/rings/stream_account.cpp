// SPDX-License-Identifier: BSD-2-Clause
#include "kernel/rings/stream_account.h"

#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/files/partial_directory.h"
#include "trace/directory/trace_reader.h"

namespace ktraced {
namespace {

using CountsByCpu = std::vector<LedgerCounts>;

// Opens a trace, finished or not: it may have got its final name just before the daemon was killed.
Result<TraceReader> open_trace(const std::string& path) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) return TraceReader::open(path);
  return TraceReader::open(PartialDirectory::partial_of(path), true);
}

// Subtracts the events and losses of a trace. False if it cannot be read.
bool subtract(const std::string& path, CountsByCpu& counts) {
  auto trace = open_trace(path);
  if (!trace) return false;
  for (PacketFile& file : trace->open_files()) {
    if (file.cpu() >= counts.size()) return false;
    const auto take_off = [&](uint32_t event, uint64_t count) {
      if (event < EVENT_ID_MAX) counts[file.cpu()][event] -= count;
    };
    for (auto packet = file.next(); packet && *packet; packet = file.next()) {
      for (const Lost& lost : (*packet)->view.lost()) take_off(lost.event_id, lost.count);
      (*packet)->view.for_each_record([&](const RecordView& record) { take_off(record.id(), 1); });
    }
  }
  return true;
}

// Nothing if a count is below zero.
std::optional<LostByCpu> as_losses(const CountsByCpu& counts) {
  LostByCpu lost;
  for (uint32_t cpu = 0; cpu < counts.size(); ++cpu)
    for (uint32_t event = 0; event < EVENT_ID_MAX; ++event) {
      const uint64_t count = counts[cpu][event];
      if (static_cast<int64_t>(count) < 0) return std::nullopt;
      if (count != 0) lost[cpu].push_back({.count = count, .event_id = event, .reserved = 0});
    }
  return lost;
}

}  // namespace

std::optional<LostByCpu> StreamAccount::resume(const std::map<uint32_t, uint64_t>& consumed) {
  const uint64_t trace = active().load();
  bool known = trace == 1 || trace == 2;
  CountsByCpu unwritten;
  for (uint32_t number = 0; number < taken_.size(); ++number) {
    Taken& taken = taken_[number];
    const auto ring = consumed.find(number);
    const uint64_t position = ring == consumed.end() ? 0 : ring->second;
    const auto& slots = cpus_[number].slots;
    taken.slot = slots[0].position == position ? 0 : 1;
    const bool valid = slots[taken.slot].position == position;
    known = known && valid;
    taken.counts = slots[taken.slot].counts;
    taken.events = EVENT_ID_MAX;
    if (!valid) write_slot(number, taken.slot, position);
    if (!known) continue;
    LedgerCounts& counts = unwritten.emplace_back(taken.counts);
    for (uint16_t event = 0; event < EVENT_ID_MAX; ++event)
      counts[event] += reported_(number, event) - cpus_[number].written[trace - 1][event];
  }
  if (!known) return std::nullopt;
  const std::string path = traces_.traces[trace - 1].data();  // empty: none was begun
  if (!path.empty() && !subtract(path, unwritten)) return std::nullopt;
  return as_losses(unwritten);
}

void StreamAccount::take(uint32_t cpu, uint16_t event) {
  Taken& taken = taken_[cpu];
  ++taken.counts[event];
  taken.events = std::max<size_t>(taken.events, event + size_t{1});
}

// A daemon may be killed at any point, so a slot that is being written has no position. After two
// commits at one position both slots have it, and either of them is valid.
void StreamAccount::write_slot(uint32_t number, size_t slot, uint64_t position) {
  StreamCpuEntry::Slot& target = cpus_[number].slots[slot];
  const Taken& taken = taken_[number];
  std::atomic_ref(target.position).store(kNoPosition, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  std::copy_n(taken.counts.begin(), taken.events, target.counts.begin());
  store_in_order(target.position, position);
}

void StreamAccount::commit(uint32_t cpu, uint64_t position) {
  Taken& taken = taken_[cpu];
  taken.slot ^= 1;
  write_slot(cpu, taken.slot, position);
}

void StreamAccount::restart(uint32_t cpu) {
  write_slot(cpu, 0, 0);
  write_slot(cpu, 1, 0);
}

// An account that a killed daemon has left stays valid until a trace begins.
void StreamAccount::begin(const LostByCpu& known_lost) {
  std::lock_guard lock(mutex_);
  ++generation_;
  for (uint32_t number = 0; number < taken_.size(); ++number) {
    LedgerCounts& written = written_[number];
    written = taken_[number].counts;
    for (uint16_t event = 0; event < EVENT_ID_MAX; ++event)
      written[event] += reported_(number, event);
    if (const auto lost = known_lost.find(number); lost != known_lost.end())
      for (const Lost& each : lost->second) written[each.event_id] -= each.count;
  }
  settled_ = true;
  if (active().load() == 0) store_trace("");
}

uint64_t StreamAccount::generation() const {
  std::lock_guard lock(mutex_);
  return generation_;
}

void StreamAccount::give_up(std::optional<uint64_t> generation) {
  std::lock_guard lock(mutex_);
  if (generation.value_or(generation_) == generation_) settled_ = false;
  active().store(0);
}

void StreamAccount::begin_trace(uint64_t generation, const std::string& path) {
  std::lock_guard lock(mutex_);
  const bool fits = path.size() < traces_.traces[0].size();
  if (generation != generation_ || !settled_ || !fits) return active().store(0);
  store_trace(path);
}

void StreamAccount::store_trace(const std::string& path) {
  const size_t next = active().load() == 1 ? 1 : 0;
  for (uint32_t number = 0; number < taken_.size(); ++number)
    cpus_[number].written[next] = written_[number];
  std::memcpy(traces_.traces[next].data(), path.c_str(), path.size() + 1);
  active().store(next + 1);
}

// begin() counts everything of an earlier series as written, so its traces add nothing.
void StreamAccount::end_trace(uint64_t generation, const TraceWriter& trace) {
  std::lock_guard lock(mutex_);
  if (generation != generation_) return;
  trace.for_each_account([&](uint32_t cpu, size_t event, const EventAccount& account) {
    if (cpu < written_.size() && event < EVENT_ID_MAX)
      written_[cpu][event] += account.records + account.lost;
  });
}

void StreamAccount::end(uint64_t generation) {
  std::lock_guard lock(mutex_);
  active().store(0);
  if (generation != generation_ && settled_) store_trace("");
}

}  // namespace ktraced
