// SPDX-License-Identifier: BSD-2-Clause
#include "daemon/stream/session_stream.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string_view>

#include "base/clock.h"

namespace ktraced {
namespace {

// Space is released in steps of this many bytes, so that a full ring accepts new records before all
// of it has been read.
constexpr uint64_t kStepBytes = 64U << 10;

// Names that wait for the first batch: attaching programs can take minutes.
constexpr size_t kNamesMaxBytes = 8U << 20;
constexpr size_t kSentMax = 65536;

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

SessionStream::SessionStream(StreamRings rings, Counters& counters, Options options)
    : rings_(std::move(rings)), counters_(counters), options_(std::move(options)) {}

void SessionStream::make_cpus(uint64_t start) {
  names_taken_ns_ = boottime_ns();
  cpus_.clear();
  for (uint32_t cpu = 0; cpu < counters_.cpus(); ++cpu)
    cpus_.emplace_back(options_.uuid, counters_, rings_.session(), cpu, start);
}

void SessionStream::begin() {
  make_cpus(boottime_ns());
  for (auto& [cpu, ring] : rings_.rings())
    release(ring, cpu, ring.read(ring.consumed(), ring.produced(), [](uint64_t, auto) {}));
  for (Cpu& cpu : cpus_) static_cast<void>(cpu.losses.unreported());
  if (options_.account != nullptr) options_.account->begin({});
}

void SessionStream::resume(const LostByCpu& lost_before) {
  make_cpus(0);
  if (options_.account != nullptr) options_.account->begin(lost_before);
  for (const auto& [cpu, lost] : lost_before) cpus_[cpu].builder.lose(lost);
}

void SessionStream::request() {
  requested_.store(boottime_ns());
  flowing_.store(true);
}

void SessionStream::add_names(std::span<const std::byte> records) {
  names_.insert(names_.end(), records.begin(), records.end());
}

void SessionStream::add_names(const NameChanges& changes) {
  if (changes.lost || names_.size() + changes.records.size() > kNamesMaxBytes)
    return lose_names(changes.window);
  if (changes.behind) fall_behind(changes.window.from);
  add_names(changes.records);
}

void SessionStream::lose_names(const LostNamesWindow& window) {
  if (!lost_names_) lost_names_ = window;
  lost_names_->until = window.until;
  fall_behind(window.from);
}

void SessionStream::fall_behind(uint64_t since) {
  behind_since_ = std::min(since, behind_since_.value_or(since));
}

// Names of caches and control groups have no time.
void SessionStream::catch_up(std::span<const std::byte> records) {
  caught_up_from_ = std::exchange(behind_since_, std::nullopt);
  if (sent_.size() > kSentMax) sent_.clear();
  while (!records.empty()) {
    const RecordView record(records.data());
    const auto bytes = records.first(record.bytes().size());
    records = records.subspan(bytes.size());
    if (record.id() == METADATA_task ||
        sent_.insert(std::hash<std::string_view>()(text_of(bytes))).second)
      add_names(bytes);
  }
}

void SessionStream::announce(std::span<const std::byte> records) {
  for (const PacketBytes& packet :
       build_metadata_packets(options_.uuid, metadata_sequence_,
                              {.before = watermark_, .complete_until = watermark_}, records))
    static_cast<void>(options_.publish(std::span(&packet, 1), false));
}

void SessionStream::publish(uint64_t until, uint64_t watermark, bool last) {
  const uint64_t now = boottime_ns();
  if (const auto lost = std::exchange(lost_names_, std::nullopt))
    add_names(lost_names_record(*lost));
  std::vector<PacketBytes> packets;
  for (auto& [number, ring] : rings_.rings()) drain_cpu(ring, cpus_[number]);
  for (Cpu& cpu : cpus_) {
    if (!rings_.rings().contains(cpu.number)) cpu.builder.lose(cpu.losses.unreported());
    cpu.builder.take(until, packets);
  }
  // The last metadata packet comes last: with those before it, it names everything that the events
  // refer to.
  auto names = build_metadata_packets(options_.uuid, metadata_sequence_,
                                      {.before = watermark_, .complete_until = watermark},
                                      std::exchange(names_, {}));
  watermark_ = watermark;
  packets.insert(packets.begin(), names.begin(), std::prev(names.end()));
  packets.push_back(std::move(names.back()));
  note_names_taken(options_.publish(packets, last), now);
}

void SessionStream::note_names_taken(bool taken, uint64_t now) {
  const auto caught_up_from = std::exchange(caught_up_from_, std::nullopt);
  if (taken) {
    names_taken_ns_ = now;
    return;
  }
  fall_behind(std::min(names_taken_ns_, caught_up_from.value_or(names_taken_ns_)));
  sent_.clear();
}

void SessionStream::release(StreamRing& ring, uint32_t cpu, uint64_t to) {
  if (options_.account != nullptr) options_.account->commit(cpu, to);
  ring.release(to);
}

void SessionStream::drain_cpu(StreamRing& ring, Cpu& cpu) {
  const uint64_t until = ring.produced();
  uint64_t at = ring.consumed();
  while (at < until) {
    const uint64_t step = std::min(until, at + kStepBytes);
    const uint64_t next = take_step(ring, cpu, at, step);
    note_losses(ring, cpu);
    release(ring, cpu.number, next);
    const bool busy = next < step;
    at = next;
    if (busy) break;
  }
  note_losses(ring, cpu);
  report_losses(cpu, at);
}

// If this fails halfway, the records read so far are released: they are in the builder.
uint64_t SessionStream::take_step(StreamRing& ring, Cpu& cpu, uint64_t from, uint64_t until) {
  uint64_t at = from;
  try {
    return ring.read(from, until, [&](uint64_t position, auto bytes) {
      at = position;
      report_losses(cpu, position);
      cpu.builder.add(bytes);
      if (options_.account != nullptr)
        options_.account->take(cpu.number, RecordView(bytes.data()).id());
    });
  } catch (...) {
    release(ring, cpu.number, at);
    throw;
  }
}

// While the ring is full every new record is dropped. So everything dropped since the last release
// belongs right after what is now the last record.
void SessionStream::note_losses(const StreamRing& ring, Cpu& cpu) {
  if (auto unreported = cpu.losses.unreported(); !unreported.empty())
    cpu.pending.emplace_back(ring.produced(), std::move(unreported));
}

void SessionStream::report_losses(Cpu& cpu, uint64_t position) {
  for (; !cpu.pending.empty() && cpu.pending.front().first <= position; cpu.pending.pop_front())
    cpu.builder.lose(cpu.pending.front().second);
}

Result<> SessionStream::resize(size_t ring_bytes) {
  auto old = rings_.resize(ring_bytes);
  if (!old) return propagate(old);
  for (auto& [number, ring] : *old) {
    drain_cpu(ring, cpus_[number]);
    report_losses(cpus_[number], std::numeric_limits<uint64_t>::max());
  }
  if (options_.account != nullptr)
    for (const auto& [number, ring] : rings_.rings()) options_.account->restart(number);
  return {};
}

uint64_t SessionStream::discard() {
  uint64_t discarded = 0;
  for (auto& [number, ring] : rings_.rings()) {
    drain_cpu(ring, cpus_[number]);
    discarded += cpus_[number].builder.discard();
  }
  return discarded;
}

uint64_t SessionStream::late_records() const {
  uint64_t sum = 0;
  for (const Cpu& cpu : cpus_) sum += cpu.builder.late_records();
  return sum;
}

}  // namespace ktraced
